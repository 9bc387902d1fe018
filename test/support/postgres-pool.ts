import { createPool, toSettings } from "../../src/stores/postgres/database.ts";
import { silentLog } from "../../src/core/telemetry/log.ts";

export type Pool = ReturnType<typeof createPool>;

/** By the URL of a database. */
const pools = new Map<string, Pool>();

/** Connections that stay open. A new one takes twenty times the CPU of a statement, for the server starts a process. */
export function findPool(url: string, max: number): Pool {
  const pool = pools.get(url) ?? createPool(toSettings(url), max, silentLog);
  pools.set(url, pool);
  return pool;
}

/** Deletes all rows but those of a new database: its version and its ids. */
export async function empty(pool: Pool): Promise<void> {
  const { rows } = await pool.query(`
    SELECT relname AS name FROM pg_class WHERE relnamespace = 'hookline'::regnamespace AND relkind IN ('r', 'p')
      AND NOT relispartition AND relname NOT IN ('version', 'signing_key', 'publishing')`);
  const statements = rows.map(({ name }) => `DELETE FROM hookline.${name}`);
  await pool.query(
    [...statements, "UPDATE hookline.publishing SET position = 0, swept = 0, swept_id = '', version = 0"].join(";"),
  );
}
