import path from "node:path";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    root: path.join(import.meta.dirname, "../.."),
    include: ["test/packages/**/*.test.ts"],
    testTimeout: 240_000,
    hookTimeout: 60_000,
    maxConcurrency: 2,
    pool: "forks",
    experimental: { viteModuleRunner: false },
  },
});
