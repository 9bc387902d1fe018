import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createPool, toSettings } from "../../../../src/stores/postgres/database.ts";
import { createPostgresJournal } from "../../../../src/stores/postgres/postgres.ts";
import { silentLog } from "../../../../src/core/telemetry/log.ts";
import { silentTelemetry } from "../../../../src/core/telemetry/telemetry.ts";
import { createPostgresUrl } from "../../../support/postgres.ts";
import type { JournalUnderTest } from "../../journal.ts";
import type { OpenJournal } from "../harness.ts";

type Pool = ReturnType<typeof createPool>;

const MAX_CONNECTIONS = 3;

/** A database for each folder; its URL is in a file there. */
export const open: OpenJournal = async (folder) => {
  const url = await findUrl(folder);
  return createPostgresJournal({
    url,
    maxConnections: MAX_CONNECTIONS,
    commitTimeoutMs: 60_000,
    telemetry: silentTelemetry,
    pool: findPool(url),
    firstLeaseMs: Number(process.env.HOOKLINE_TEST_LEASE_MS ?? 60_000),
    // The tests count what is reported.
    pollMs: 3_600_000,
  });
};

/** The journal that both parts of the contract test. */
export const POSTGRES: JournalUnderTest = {
  open,
  opener: new URL(import.meta.url),
  hasNodes: true,
  hasSizeLimit: false,
  isSlow: true,
};

/** By the URL of a database. A new connection to a new database takes longer than most tests. */
const pools = new Map<string, Pool>();

function findPool(url: string): Pool {
  const pool = pools.get(url) ?? createPool(toSettings(url), MAX_CONNECTIONS, silentLog);
  pools.set(url, pool);
  return pool;
}

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
  if (free !== undefined) await empty(findPool(url));
  return url;
}

/** Deletes all rows but those of a new database: its version and its ids. */
async function empty(pool: Pool): Promise<void> {
  const { rows } = await pool.query(`
    SELECT relname AS name FROM pg_class WHERE relnamespace = 'hookline'::regnamespace AND relkind IN ('r', 'p')
      AND NOT relispartition AND relname NOT IN ('version', 'signing_key', 'publishing')`);
  const statements = rows.map(({ name }) => `DELETE FROM hookline.${name}`);
  await pool.query(
    [...statements, "UPDATE hookline.publishing SET position = 0, swept = 0, swept_id = '', version = 0"].join(";"),
  );
}
