import path from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const root = path.join(import.meta.dirname, "..");

// Workers, and the programs that tests start, compile each file once.
process.env["NODE_COMPILE_CACHE"] ??= path.join(root, "node_modules/.cache/compile");
// Larger pages: a start of Node touches a sixth less of them, and to start a program copies fewer. Ratio of CPU 0.87 where tests
// start programs all the time.
process.env["GLIBC_TUNABLES"] ??= "glibc.malloc.hugetlb=1:glibc.malloc.arena_max=1";

/**
 * They start programs all the time, which costs the more memory a worker has: Linux copies its page tables. So they come first, while
 * workers are small.
 */
const STARTING = /(?:workspaces|publish|change|docs|package|program|closed-output)\.test\.ts$|test\/faults\//;

/** They take longest, and most of them are small files, which vitest starts last. */
const LONG =
  /test\/(?:browser|system)\/|(?:postgres|queue|records|registration|sqlite|gap-repair|reload|no-stack|injection|mcp|comment-services|sandbox|gmail|acp)\.test\.ts$/;

/** The system tests that wait longest. Started last, they would be waited for alone. */
const WAITING = /test\/system\/(?:failover|mail|imap|dovecot|pooler)\.test\.ts$/;

export class LongFirst extends BaseSequencer {
  override async sort(...files: Parameters<BaseSequencer["sort"]>): Promise<TestSpecification[]> {
    const {
      waiting = [],
      starting = [],
      long = [],
      short = [],
    } = Object.groupBy(await super.sort(...files), ({ moduleId }) => {
      if (WAITING.test(moduleId)) return "waiting";
      if (STARTING.test(moduleId)) return "starting";
      return LONG.test(moduleId) ? "long" : "short";
    });
    return [...waiting, ...starting, ...long, ...short];
  }
}

export default defineConfig({
  test: {
    root,
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    globalSetup: ["temporary-folder", "program", "postgres-setup"].map((name) =>
      path.join(root, `test/support/${name}.ts`),
    ),
    setupFiles: [path.join(root, "test/support/built-checks.ts")],
    // These need programs of the system, or other libraries: `npm run test:system`, `test:vendor-sdks`, `test:hosts`,
    // `test:packages`. The queue of PostgreSQL takes minutes, so it is tried once: behind PgBouncer, by `test:system`.
    exclude: [
      "test/system/**",
      "test/vendor-sdks/**",
      "test/hosts/**",
      "test/packages/**",
      "src/stores/postgres/queue.test.ts",
    ],
    pool: "forks",
    // Most tests wait for something most of the time, so there are more workers than cores. A worker runs many files.
    maxWorkers: 5,
    isolate: false,
    sequence: { sequencer: LongFirst },
    // Node imports the files itself: it strips the types, and nothing has to be transformed.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // Generous, for machines ten times slower. `expect.poll` times out first and shows the last value.
    testTimeout: 240_000,
    // The message of a failure shows whole values: of a run elsewhere, only the last lines may be seen.
    chaiConfig: { truncateThreshold: 1000 },
    hookTimeout: 240_000,
    // Most waits are for other processes, which a question every 50 ms would slow down.
    expect: { poll: { timeout: 120_000, interval: 100 } },
  },
});
