import { serveDatabases, withTables } from "../support/postgres-setup.ts";
import { startDebianPostgres, startPgBouncer } from "./debian-postgres.ts";

/** The paths of the servers, for `HOOKLINE_TEST_POSTGRES_SERVER`. */
export const DIRECT = "/debian";
export const BEHIND_PGBOUNCER = "/pgbouncer";

/** For vitest's `globalSetup`: Debian's PostgreSQL, and another one behind PgBouncer. */
export default function setup(): Promise<() => Promise<void>> {
  return serveDatabases({
    [DIRECT]: async () => withTables(await startDebianPostgres()),
    [BEHIND_PGBOUNCER]: startPgBouncer,
  });
}
