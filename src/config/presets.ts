import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { ConfigError } from "../errors.ts";
import { appendSegment, isObject, isWithin, toKeyPath } from "../shared/json.ts";
import { parseSource, type Source } from "./parse/source.ts";
import { error, type Finding } from "./rules/finding.ts";
import type { MappingInput, Preset } from "./schema/generated.ts";
import { didYouMean, toConfigProblem } from "./schema/problems.ts";
import { compileSchema, createCheck, readSchema } from "./schema/validator.ts";
import type { MappingSource, PresetUse, ResolvedConfig } from "./types.ts";

type Hooks = ResolvedConfig["hooks"];

/** What the presets in use add, in their order. */
export interface LoadedPresets {
  mappings: MappingSource[];
  /** Those without a file are about the configuration. */
  findings: Finding[];
  /** Which key of a preset's file has its value from which key of the configuration. */
  origins: { file: string; key: string; origin: string }[];
  /** The presets' files, by absolute path. */
  sources: Map<string, Source>;
}

/** Reads the presets that a configuration uses from the folder `root`, and fills in their parameters. */
export function loadPresets(hooks: Hooks, root: string): LoadedPresets {
  const loaded: LoadedPresets = { mappings: [], findings: [], origins: [], sources: new Map() };
  const known = globSync("*/preset.json", { cwd: root }).map((file) => path.dirname(file));
  for (const [index, use] of hooks.presets.entries()) {
    const first = hooks.presets.slice(0, index).find(({ name }) => name === use.name);
    if (!known.includes(use.name)) {
      const hint = didYouMean(use.name, known.toSorted());
      loaded.findings.push(error(use.key, `unknown preset "${use.name}"${hint}`));
    } else if (first) {
      loaded.findings.push(error(use.key, `the preset "${use.name}" is already used at ${first.key}`));
    } else {
      expandPreset(readPreset(path.join(root, use.name, "preset.json")), use, { mail: hooks.mail, loaded });
    }
  }
  return loaded;
}

/** A problem with a value that the configuration gave a preset belongs to the configuration. */
export function toOrigin<Problem extends { file?: string; key?: string }>(
  problem: Problem,
  origins: LoadedPresets["origins"],
): Problem {
  const from = origins.find(({ file, key }) => file === problem.file && isWithin(problem.key ?? "", key));
  return from ? { ...problem, key: from.origin, file: undefined } : problem;
}

interface PresetFile {
  preset: Preset;
  /** Absolute. */
  file: string;
  source: Source;
}

const checkPreset = createCheck(() => readSchema("preset"), { all: true, subject: "the preset" });

/** Throws a `ConfigError` if the file is not a valid preset. */
function readPreset(file: string): PresetFile {
  const source = parseSource(file, readFileSync(file, "utf8"));
  const { value } = source;
  if (isPreset(value)) return { preset: value, file, source };
  const problems = checkPreset(value).map(toConfigProblem);
  throw new ConfigError(problems.map((problem) => ({ ...problem, file, ...source.locate(problem.key ?? "") })));
}

function isPreset(value: unknown): value is Preset {
  return checkPreset(value).length === 0;
}

/** Checks the parameters, fills them in, and checks the mappings that come of it. */
function expandPreset(
  { preset, file, source }: PresetFile,
  use: PresetUse,
  { mail, loaded }: { mail: Hooks["mail"]; loaded: LoadedPresets },
): void {
  loaded.sources.set(file, source);
  const parameters = gatherParameters(preset, use, mail);
  const refused = checkParameters(preset, use, parameters);
  loaded.findings.push(...refused);
  if (refused.length > 0) return;

  const folder = path.dirname(file);
  for (const [index, template] of preset.mappings.entries()) {
    const key = `mappings[${index}]`;
    const { value: mapping, uses } = fillParameters(template, key, parameters);
    const findings = [...checkDeclared(uses, preset), ...checkMapping(mapping, index)];
    loaded.findings.push(...findings.map((finding) => ({ ...finding, file })));
    loaded.origins.push(
      ...uses.map(({ key: at, name }) => ({ file, key: at, origin: parameters.get(name)?.key ?? use.key })),
    );
    if (!isMapping(mapping)) continue;
    const id = mapping.id ?? (preset.mappings.length === 1 ? preset.name : `${preset.name}-${index}`);
    loaded.mappings.push({ mapping, id, preset: preset.name, file, key, transformsDir: folder, baseDir: folder });
  }
}

/** A value that a preset is given, and the key of the configuration that it comes from. */
interface Parameter {
  value: unknown;
  key: string;
}

/** The parameters of a use, by name. Those in `with` take precedence over the block that the preset's defaults come from. */
function gatherParameters(preset: Preset, use: PresetUse, mail: Hooks["mail"]): Map<string, Parameter> {
  const defaults = preset.defaultsFrom === "hooks.mail" ? Object.entries(mail) : [];
  const declared = defaults.filter(([name]) => Object.hasOwn(preset.parameters ?? {}, name));
  const toParameters = (parent: string, values: [string, unknown][]) =>
    values.map(([name, value]) => [name, { value, key: appendSegment(parent, name) }] as const);
  return new Map([
    ...toParameters("hooks.mail", declared),
    ...toParameters(`${use.key}.with`, Object.entries(use.with)),
  ]);
}

function checkParameters(preset: Preset, use: PresetUse, parameters: Map<string, Parameter>): Finding[] {
  const { parameters: properties = {}, required = [] } = preset;
  const check = compileSchema({ properties, required, additionalProperties: false }, { all: true });
  const values = [...parameters].map(([name, { value }]) => [name, value]);
  return check(Object.fromEntries(values)).map((problem) => {
    const [name = "", ...rest] = problem.segments;
    const key = parameters.get(String(name))?.key ?? appendSegment(`${use.key}.with`, name);
    return error(rest.reduce<string>(appendSegment, key), toConfigProblem(problem).message);
  });
}

function checkDeclared(uses: ParameterUse[], { parameters = {} }: Preset): Finding[] {
  return uses
    .filter(({ name }) => !Object.hasOwn(parameters, name))
    .map(({ key, name }) =>
      error(key, `the preset has no parameter "${name}"${didYouMean(name, Object.keys(parameters))}`),
    );
}

const findMappingProblems = createCheck(() => readSchema("mapping"), { all: true });

function isMapping(value: unknown): value is MappingInput {
  return findMappingProblems(value).length === 0;
}

function checkMapping(value: unknown, index: number): Finding[] {
  return findMappingProblems(value).map((problem) =>
    error(toKeyPath(["mappings", index, ...problem.segments]), toConfigProblem(problem).message),
  );
}

/** A place in a preset's file that a parameter's value was written to, as a dotted path. */
interface ParameterUse {
  key: string;
  name: string;
}

/** A copy of a preset's mapping with each `{ "$param": "x" }` replaced by the value of x. Without a value, its key is left out. */
function fillParameters(
  template: unknown,
  key: string,
  parameters: ReadonlyMap<string, Parameter>,
): { value: unknown; uses: ParameterUse[] } {
  const uses: ParameterUse[] = [];
  return { value: fill(template, key), uses };

  function fill(part: unknown, at: string): unknown {
    if (Array.isArray(part)) {
      return part.map((item, index) => fill(item, appendSegment(at, index))).filter((item) => item !== undefined);
    }
    if (!isObject(part)) return part;
    if (typeof part["$param"] === "string") {
      uses.push({ key: at, name: part["$param"] });
      return parameters.get(part["$param"])?.value;
    }
    const entries = Object.entries(part).map(([name, child]) => [name, fill(child, appendSegment(at, name))]);
    return Object.fromEntries(entries.filter(([, child]) => child !== undefined));
  }
}
