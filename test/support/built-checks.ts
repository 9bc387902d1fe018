import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { compiledChecks } from "../../src/core/config/schema/compiled-checks.ts";
import { PACKAGE } from "./program.ts";

/**
 * For vitest's `setupFiles`: the source uses the checks that the build compiles. To compile them takes each worker most of a
 * second. `blocks.test.ts` compares both.
 */
const load = createRequire(import.meta.url);
compiledChecks.find = (name) => {
  const file = path.join(PACKAGE, "dist/checks", `${name}.cjs`);
  return existsSync(file) ? load(file) : undefined;
};

let facts: Record<string, object> | undefined;
compiledChecks.findFacts = (name) => (facts ??= load(path.join(PACKAGE, "dist/checks/facts.json")))?.[name];
