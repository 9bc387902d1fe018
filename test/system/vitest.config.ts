import path from "node:path";
import { defineConfig } from "vitest/config";
import base from "../vitest.config.ts";
import { BEHIND_PGBOUNCER, DIRECT } from "./postgres-setup.ts";

const { include: _, ...common } = base.test ?? {};
const system = { ...common, globalSetup: [], exclude: [], testTimeout: 900_000, hookTimeout: 120_000 };

/** Parts of the contract of journals, which take minutes: the one runs only behind PgBouncer, the other in `npm test`. */
const QUEUE = "src/stores/postgres/queue.test.ts";
const RECORDS = "src/stores/postgres/records.test.ts";

/** Tests that `npm test` runs on a PostgreSQL from npm. */
const NODES = "test/nodes.test.ts";
const ON_POSTGRES = ["src/stores/postgres/**/*.test.ts", "src/mail/postgres-store.test.ts", NODES];

const postgres = (name: string, HOOKLINE_TEST_POSTGRES_SERVER: string, exclude: string[]) => ({
  test: { ...system, name, include: ON_POSTGRES, exclude, env: { HOOKLINE_TEST_POSTGRES_SERVER } },
});

/** For `npm run test:system`. */
export default defineConfig({
  test: {
    root: system.root,
    globalSetup: [
      path.join(import.meta.dirname, "../support/temporary-folder.ts"),
      path.join(import.meta.dirname, "../support/program.ts"),
      path.join(import.meta.dirname, "postgres-setup.ts"),
    ],
    projects: [
      { test: { ...system, name: "system", include: ["test/system/**/*.test.ts"] } },
      postgres("Debian's PostgreSQL", DIRECT, [QUEUE, RECORDS, NODES]),
      postgres("PgBouncer", BEHIND_PGBOUNCER, [RECORDS]),
    ],
  },
});
