import { createRequire } from "node:module";
import path from "node:path";
import { compiledChecks } from "../../src/config/schema/compiled-checks.ts";
import { PACKAGE } from "./program.ts";

/**
 * For vitest's `setupFiles`: the source uses the checks that the build compiles. To compile them takes each worker most of a
 * second, and again for each driver that a configuration names. `driver-check.test.ts` compares both.
 */
const load = createRequire(import.meta.url);
const MODULES = {
  config: "config",
  mapping: "config",
  preset: "preset",
  wake: "wake",
  agent: "agent",
  action: "action",
};
for (const [name, module] of Object.entries(MODULES) as [keyof typeof compiledChecks, string][]) {
  compiledChecks[name] = () => load(path.join(PACKAGE, "dist/checks", `${module}.cjs`))[name];
}
