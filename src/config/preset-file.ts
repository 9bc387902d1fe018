import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { ConfigError } from "../errors.ts";
import { appendSegment } from "../shared/json.ts";
import { toConfigProblem } from "./check-schema.ts";
import { error, type Finding } from "./finding.ts";
import { parseSource, type Source } from "./parse/source.ts";
import type { Preset } from "./schema/generated.ts";
import { compileSchema, readSchema } from "./schema/validator.ts";
import type { PresetUse, ResolvedConfig } from "./types.ts";

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
  const problems = checkPreset(value).map(toConfigProblem);
  throw new ConfigError(problems.map((problem) => ({ ...problem, file, ...source.locate(problem.key ?? "") })));
}

const checkPreset = compileSchema(readSchema("preset"), { all: true, subject: "the preset" });

function isPreset(value: unknown): value is Preset {
  return checkPreset(value).length === 0;
}

/** A value that a preset is given, and the configuration's key that it stands at. */
export interface Parameter {
  value: unknown;
  key: string;
}

/** The parameters of a use by name: its own, and for `mail` the settings of `hooks.mail` behind them. */
export function gatherParameters(
  preset: Preset,
  use: PresetUse,
  mail: ResolvedConfig["hooks"]["mail"],
): Map<string, Parameter> {
  const settings = preset.name === "mail" ? Object.entries(mail) : [];
  const declared = settings.filter(([name]) => Object.hasOwn(preset.parameters ?? {}, name));
  return new Map([
    ...declared.map(toParameter("hooks.mail")),
    ...Object.entries(use.with).map(toParameter(`${use.key}.with`)),
  ]);
}

/** Checks the parameters against what the preset declares. */
export function checkParameters(preset: Preset, use: PresetUse, parameters: Map<string, Parameter>): Finding[] {
  const { parameters: properties = {}, required = [] } = preset;
  const check = compileSchema({ properties, required, additionalProperties: false }, { all: true });
  const values = [...parameters].map(([name, { value }]) => [name, value]);
  return check(Object.fromEntries(values)).map((problem) => {
    const [name = "", ...rest] = problem.segments;
    const key = parameters.get(String(name))?.key ?? appendSegment(`${use.key}.with`, name);
    return error(rest.reduce<string>(appendSegment, key), toConfigProblem(problem).message);
  });
}

function toParameter(parent: string) {
  return ([name, value]: [string, unknown]): [string, Parameter] => [name, { value, key: appendSegment(parent, name) }];
}
