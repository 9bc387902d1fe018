import path from "node:path";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    root: path.join(import.meta.dirname, "../.."),
    include: ["test/hosts/**/*.test.ts"],
    globalSetup: ["test/support/program.ts"],
    testTimeout: 60_000,
    pool: "forks",
    experimental: { viteModuleRunner: false },
  },
});
