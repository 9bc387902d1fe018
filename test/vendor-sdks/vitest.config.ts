import path from "node:path";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    root: path.join(import.meta.dirname, "../.."),
    include: ["test/vendor-sdks/**/*.test.ts"],
    testTimeout: 240_000,
  },
});
