import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createPostgresJournal, type PostgresJournal } from "../../../../src/stores/postgres/postgres.ts";
import { silentTelemetry } from "../../../../src/core/telemetry/telemetry.ts";
import { createPostgresUrl } from "../../../support/postgres.ts";
import { empty, findPool } from "../../../support/postgres-pool.ts";
import type { JournalUnderTest } from "../../journal.ts";

const MAX_CONNECTIONS = 3;

/** A database for each folder; its URL is in a file there. */
export async function open(folder: string): Promise<PostgresJournal> {
  const url = await findUrl(folder);
  return createPostgresJournal({
    url,
    maxConnections: MAX_CONNECTIONS,
    commitTimeoutMs: 60_000,
    telemetry: silentTelemetry,
    pool: findPool(url, MAX_CONNECTIONS),
    firstLeaseMs: Number(process.env.HOOKLINE_TEST_LEASE_MS ?? 60_000),
    // The tests count what is reported.
    pollMs: 3_600_000,
  });
}

/** The journal that both parts of the contract test. */
export const POSTGRES: JournalUnderTest = {
  open,
  opener: new URL(import.meta.url),
  hasNodes: true,
  hasSizeLimit: false,
  isSlow: true,
};

/** By folder. The database of a folder that was removed is free. */
const urls = new Map<string, string>();

async function findUrl(folder: string): Promise<string> {
  const file = path.join(folder, "url");
  if (existsSync(file)) return readFileSync(file, "utf8");
  const [earlier, free] = [...urls].find(([used]) => !existsSync(used)) ?? [];
  if (earlier !== undefined) urls.delete(earlier);
  const url = free ?? (await createPostgresUrl());
  urls.set(folder, url);
  writeFileSync(file, url);
  if (free !== undefined) await empty(findPool(url, MAX_CONNECTIONS));
  return url;
}
