import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createPostgresJournal } from "../../../../src/stores/postgres/postgres.ts";
import { silentTelemetry } from "../../../../src/core/telemetry/telemetry.ts";
import { createPostgresUrl } from "../../../support/postgres.ts";
import type { JournalUnderTest } from "../../journal.ts";
import type { OpenJournal } from "../harness.ts";

/** A database for each folder; its URL is in a file there. */
export const open: OpenJournal = async (folder) =>
  createPostgresJournal({
    url: await findUrl(folder),
    maxConnections: 2,
    commitTimeoutMs: 60_000,
    telemetry: silentTelemetry,
    firstLeaseMs: Number(process.env.HOOKLINE_TEST_LEASE_MS ?? 60_000),
    // The tests count what is reported.
    pollMs: 3_600_000,
  });

/** The journal that both parts of the contract test. */
export const POSTGRES: JournalUnderTest = {
  open,
  opener: new URL(import.meta.url),
  hasNodes: true,
  hasSizeLimit: false,
  isSlow: true,
};

async function findUrl(folder: string): Promise<string> {
  const file = path.join(folder, "url");
  try {
    return readFileSync(file, "utf8");
  } catch {
    const url = await createPostgresUrl();
    writeFileSync(file, url);
    return url;
  }
}
