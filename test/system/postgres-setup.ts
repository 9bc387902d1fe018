import { serveDatabases } from "../support/postgres-setup.ts";
import { startPgBouncer } from "./debian-postgres.ts";

/** The path of the server, for `HOOKLINE_TEST_POSTGRES_SERVER`. */
export const BEHIND_PGBOUNCER = "/pgbouncer";

/** For vitest's `globalSetup`: Debian's PostgreSQL behind PgBouncer. */
export default function setup(): Promise<() => Promise<void>> {
  return serveDatabases({ [BEHIND_PGBOUNCER]: startPgBouncer });
}
