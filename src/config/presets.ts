import path from "node:path";
import { appendSegment, isObject, isWithin, toKeyPath } from "../shared/json.ts";
import { toConfigProblem } from "./check-schema.ts";
import { didYouMean } from "./did-you-mean.ts";
import { error, type Finding } from "./finding.ts";
import type { Source } from "./parse/source.ts";
import { checkParameters, gatherParameters, listPresets, type PresetFile, readPreset } from "./preset-file.ts";
import type { MappingInput, Preset } from "./schema/generated.ts";
import { compileSchema, readSchema } from "./schema/validator.ts";
import type { MappingSource, PresetUse, ResolvedConfig } from "./types.ts";

/** The mappings that the presets in use add, in their order, and what is wrong with them. */
export interface LoadedPresets extends Expansion {
  /** The presets' files, by absolute path. */
  sources: Map<string, Source>;
}

/** Reads and fills in the presets that a configuration uses, out of the folder `root`. */
export function loadPresets({ presets, mail }: ResolvedConfig["hooks"], root: string): LoadedPresets {
  const known = listPresets(root);
  const loaded: LoadedPresets = { mappings: [], findings: [], origins: [], sources: new Map() };
  for (const [index, use] of presets.entries()) {
    const refused = checkUse(use, presets.slice(0, index), known);
    loaded.findings.push(...refused);
    if (refused.length > 0) continue;

    const presetFile = readPreset(root, use.name);
    const { mappings, findings, origins } = expandPreset(presetFile, use, mail);
    loaded.mappings.push(...mappings);
    loaded.findings.push(...findings);
    loaded.origins.push(...origins);
    loaded.sources.set(presetFile.file, presetFile.source);
  }
  return loaded;
}

/** What is said about a value that the configuration gave a preset belongs to the configuration. */
export function toOrigin<Said extends { file?: string; key?: string }>(
  said: Said,
  origins: Expansion["origins"],
): Said {
  const from = origins.find(({ file, key }) => file === said.file && isWithin(said.key ?? "", key));
  return from ? { ...said, key: from.origin, file: undefined } : said;
}

function checkUse({ name, key }: PresetUse, earlier: PresetUse[], known: string[]): Finding[] {
  if (!known.includes(name)) {
    const list = known.join(", ");
    return [error(key, `there is no preset "${name}" among ${list}${didYouMean(name, known, "")}`)];
  }
  const first = earlier.find((use) => use.name === name);
  return first ? [error(key, `the preset "${name}" is used already at ${first.key}`)] : [];
}

/** What a use of a preset comes to. */
export interface Expansion {
  mappings: MappingSource[];
  /** Those without a file are about the configuration. */
  findings: Finding[];
  /** Which key of the preset's file has its value from which key of the configuration. */
  origins: { file: string; key: string; origin: string }[];
}

/** Checks the parameters that a preset is used with, fills them in, and checks what comes of it. */
function expandPreset(presetFile: PresetFile, use: PresetUse, mail: ResolvedConfig["hooks"]["mail"]): Expansion {
  const { preset, file } = presetFile;
  const parameters = gatherParameters(preset, use, mail);
  const refused = checkParameters(preset, use, parameters);
  if (refused.length > 0) return { mappings: [], findings: refused, origins: [] };

  const values = new Map([...parameters].map(([name, { value }]) => [name, value]));
  const filled = preset.mappings.map((template, index) => fillParameters(template, keyOf(index), values));
  const uses = filled.flatMap((mapping) => mapping.uses);
  const findings = [
    ...uses.flatMap((parameterUse) => checkDeclared(parameterUse, preset)),
    ...filled.flatMap(({ value }, index) => checkMapping(value, index)),
  ];
  return {
    mappings: filled.flatMap(({ value }, index) => (isMapping(value) ? toSource(value, index, presetFile) : [])),
    findings: findings.map((finding) => ({ ...finding, file })),
    origins: uses.flatMap(({ key, name }) => ({ file, key, origin: parameters.get(name)?.key ?? use.key })),
  };
}

const check = compileSchema(readSchema("mapping"), { all: true });

function isMapping(value: unknown): value is MappingInput {
  return check(value).length === 0;
}

function checkMapping(value: unknown, index: number): Finding[] {
  return check(value).map((problem) =>
    error(toKeyPath(["mappings", index, ...problem.segments]), toConfigProblem(problem).message),
  );
}

function checkDeclared({ key, name }: ParameterUse, { parameters = {} }: Preset): Finding[] {
  if (Object.hasOwn(parameters, name)) return [];
  return [error(key, `the preset has no parameter "${name}"${didYouMean(name, Object.keys(parameters))}`)];
}

function toSource(mapping: MappingInput, index: number, { preset, file }: PresetFile): MappingSource {
  const ownId = preset.mappings.length === 1 ? preset.name : `${preset.name}-${index}`;
  const folder = path.dirname(file);
  return {
    mapping,
    id: mapping.id ?? ownId,
    preset: preset.name,
    file,
    key: keyOf(index),
    transformsDir: folder,
    baseDir: folder,
  };
}

function keyOf(index: number): string {
  return `mappings[${index}]`;
}

/** A place where a parameter's value went in, as a dotted path. */
interface ParameterUse {
  key: string;
  name: string;
}

/**
 * A copy of a preset's mapping, which stands at `key`, with each `{ "$param": "x" }` replaced by the value of
 * x. Without a value, its key is left out.
 */
function fillParameters(
  template: unknown,
  key: string,
  values: ReadonlyMap<string, unknown>,
): { value: unknown; uses: ParameterUse[] } {
  const uses: ParameterUse[] = [];
  return { value: fill(template, key), uses };

  function fill(part: unknown, at: string): unknown {
    if (Array.isArray(part)) return part.map((item, index) => fill(item, appendSegment(at, index))).filter(isGiven);
    if (!isObject(part)) return part;
    if (typeof part["$param"] === "string") return fillIn(part["$param"], at);
    const entries = Object.entries(part).map(([name, child]) => [name, fill(child, appendSegment(at, name))]);
    return Object.fromEntries(entries.filter(([, child]) => isGiven(child)));
  }

  function fillIn(name: string, at: string): unknown {
    uses.push({ key: at, name });
    return values.get(name);
  }
}

function isGiven(value: unknown): boolean {
  return value !== undefined;
}
