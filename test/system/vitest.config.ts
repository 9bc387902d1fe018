import path from "node:path";
import { defineConfig } from "vitest/config";
import base, { LongFirst } from "../vitest.config.ts";
import { BEHIND_PGBOUNCER } from "./postgres-setup.ts";

const { include: _, ...common } = base.test ?? {};
const system = { ...common, globalSetup: [], exclude: [], testTimeout: 900_000, hookTimeout: 120_000 };

/** The part of the contract of journals that runs in `npm test`. The other takes minutes, and runs only behind PgBouncer. */
const RECORDS = "src/stores/postgres/records.test.ts";

/** For `npm run test:system`. */
export default defineConfig({
  test: {
    root: system.root,
    sequence: { sequencer: LongFirst },
    globalSetup: [
      path.join(import.meta.dirname, "../support/temporary-folder.ts"),
      path.join(import.meta.dirname, "../support/program.ts"),
      path.join(import.meta.dirname, "postgres-setup.ts"),
    ],
    projects: [
      { test: { ...system, name: "system", include: ["test/system/**/*.test.ts"] } },
      // Debian's PostgreSQL is older than that from npm.
      {
        test: {
          ...system,
          name: "PgBouncer",
          include: ["src/stores/postgres/**/*.test.ts", "src/mail/postgres-store.test.ts", "test/nodes.test.ts"],
          exclude: [RECORDS],
          env: { HOOKLINE_TEST_POSTGRES_SERVER: BEHIND_PGBOUNCER },
        },
      },
    ],
  },
});
