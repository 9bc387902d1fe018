import { defineConfig } from "vitest/config";
import base from "../vitest.config.ts";

/** For `npm run test:system`. */
export default defineConfig({
  test: {
    ...base.test,
    include: ["test/system/**/*.test.ts"],
    exclude: [],
    testTimeout: 900_000,
    hookTimeout: 120_000,
  },
});
