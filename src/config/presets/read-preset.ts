import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { ConfigError } from "../../errors.ts";
import { compileSchema } from "../ajv.ts";
import { toConfigProblem } from "../check-schema.ts";
import type { Preset } from "../generated.ts";
import { parseSource, type Source } from "../parse.ts";
import { readSchema } from "../schemas.ts";

/** A preset, and where its keys stand. */
export interface PresetFile {
  preset: Preset;
  /** Absolute. */
  file: string;
  source: Source;
}

/** The presets that stand in a folder, by name. */
export function listPresets(root: string): string[] {
  return globSync("*/preset.json", { cwd: root })
    .map((file) => path.dirname(file))
    .toSorted();
}

/** Reads one of the listed presets. Throws a `ConfigError` where its file is no preset. */
export function readPreset(root: string, name: string): PresetFile {
  const file = path.join(root, name, "preset.json");
  const source = parseSource(file, readFileSync(file, "utf8"));
  const { value } = source;
  if (isPreset(value)) return { preset: value, file, source };
  const problems = check(value).map(toConfigProblem);
  throw new ConfigError(
    problems.map((problem) => ({ ...problem, file, ...source.locate(problem.key ?? "") })),
  );
}

const check = compileSchema(readSchema("preset"), { all: true, subject: "the preset" });

function isPreset(value: unknown): value is Preset {
  return check(value).length === 0;
}
