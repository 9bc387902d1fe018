import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    root: new URL("..", import.meta.url).pathname,
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    // They take programs of the system: `npm run test:system`.
    exclude: ["test/system/**"],
    pool: "forks",
    maxWorkers: 2,
    // Patience costs nothing where all is well: on a machine ten times slower each test still has its time, and what is
    // polled for gives up first, with what it saw last.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 60_000 } },
  },
});
