/** Finds the facts of the texts of the package's presets, so that a start compiles none of them. */
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { findPresets, readPreset } from "../src/core/config/presets/file.ts";
import { compiledChecks } from "../src/core/config/schema/compiled-checks.ts";
import { compileMapping } from "../src/core/mapping/compile.ts";
import { readConfig } from "../src/service/drivers.ts";
import { readSchemaText } from "../src/service/runtime/build.ts";

/** The name of the file beside the checks. */
export const FACTS = "facts.json";

/** Writes the file. `folder`: that of the checks, which are used. */
export async function writeFacts(folder: string): Promise<void> {
  const load = createRequire(import.meta.url);
  compiledChecks.find = (name) => load(path.join(folder, `${name}.cjs`));
  writeFileSync(path.join(folder, FACTS), JSON.stringify(await listFacts()));
}

/** Compiles the mappings of presets, and gives the facts by their names. */
export async function listFacts(presets = findPresets()): Promise<Record<string, object>> {
  const facts: Record<string, object> = {};
  const { findFacts } = compiledChecks;
  Object.assign(compiledChecks, {
    findFacts: undefined,
    keepFacts(name: string, found: object) {
      facts[name] = found;
    },
  });
  try {
    for (const source of await readMappings(presets)) compileMapping(source, { readFile: readSchemaText });
  } finally {
    Object.assign(compiledChecks, { findFacts, keepFacts: undefined });
  }
  return facts;
}

async function readMappings(names: string[]): Promise<Parameters<typeof compileMapping>[0][]> {
  const presets = names.map((use) => {
    const { from } = readPreset(use).preset;
    return { use, with: from && !from.default ? { from: "anyone" } : {} };
  });
  const { config, problems } = await readConfig({ hooks: { enabled: true, token: "x".repeat(32), presets } }, {});
  if (problems.length > 0) throw new Error(JSON.stringify(problems));
  return config.hooks.mappings;
}
