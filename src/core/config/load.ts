import { existsSync, statSync } from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { ConfigError, type ConfigProblem, messageOf } from "../errors.ts";
import { readRegularFile } from "../shared/system/files.ts";
import { appendSegment, isObject, isWithin, readPath, type Segment, toObject } from "../shared/json.ts";
import { toChannelName } from "../shared/channel-names.ts";
import { parseSource, type Source } from "./parse/source.ts";
import { type Drivers, loadPlugins } from "./plugins.ts";
import { loadPresets, toOrigin } from "./presets/load-presets.ts";
import { hideValues, type References, resolveReferences, withReferences } from "./references.ts";
import { type ConfigLocation, resolveConfig } from "./resolve.ts";
import type { Finding } from "./rules/finding.ts";
import { applyRules } from "./rules/rules.ts";
import { findForeignReferences, findOddSecrets, findOpenFiles } from "./rules/secrets.ts";
import { checkConfigSchema } from "./schema/blocks.ts";
import type { UserConfig, ValidConfig } from "./schema/generated.ts";
import { type SchemaProblem, toConfigProblem } from "./schema/problems.ts";
import { readSchema } from "./schema/validator.ts";
import type { ResolvedConfig } from "./resolved-config.ts";

const FILE_NAMES = ["webhooks.json5", "webhooks.jsonc", "webhooks.yaml", "webhooks.yml", "webhooks.json"];

/**
 * The configuration file, absolute: the one named by `--config`, else by `WEBHOOKS_CONFIG`, else the first of the usual
 * names in `cwd`. Throws a `ConfigError` that lists what was looked for.
 */
export function findConfigFile(options: { flag?: string; env: NodeJS.ProcessEnv; cwd: string }): string {
  const { flag, env, cwd } = options;
  if (flag !== undefined) return requireFile(path.resolve(cwd, flag), "--config");
  if (env["WEBHOOKS_CONFIG"]) return requireFile(path.resolve(cwd, env["WEBHOOKS_CONFIG"]), "WEBHOOKS_CONFIG");

  const found = FILE_NAMES.map((name) => path.join(cwd, name)).find(isFile);
  if (found !== undefined) return found;
  const message = `No configuration found: looked for ${FILE_NAMES.join(", ")} in ${cwd}.`;
  throw new ConfigError([
    { message: `${message} \`webhooks init\` writes one; --config or WEBHOOKS_CONFIG names another.` },
  ]);
}

/** Another configuration in the folder, which is not read. */
function findIgnored(file: string): ConfigProblem[] {
  const { dir, base } = path.parse(file);
  const later = FILE_NAMES.includes(base) ? FILE_NAMES.slice(FILE_NAMES.indexOf(base) + 1) : [];
  return later
    .map((name) => path.join(dir, name))
    .filter(isFile)
    .map((other) => ({ file: other, message: `This file is not read, because ${base} is. Remove one of them.` }));
}

function requireFile(file: string, named: string): string {
  if (isFile(file)) return file;
  const problem = existsSync(file) ? "This is not a file." : "The file does not exist.";
  throw new ConfigError([{ file, message: `${problem} It is named by ${named}.` }]);
}

function isFile(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
}

/** A configuration that fits its schema, with everything that still keeps it from being used. */
export interface ReadConfig {
  config: ResolvedConfig;
  /** The drivers that its blocks name. */
  drivers: Drivers;
  problems: ConfigProblem[];
  warnings: ConfigProblem[];
  /** Whether one of the problems is about this block. `key`, `file`: where it is, also for a block of a preset. */
  isRefused(block: { key: string; file?: string }): boolean;
  /** Adds file and position to a problem that was found later. */
  place(problem: ConfigProblem): ConfigProblem;
  /** Every file that was read, or looked for, absolute: what to watch. */
  files: string[];
}

export interface ConfigReader {
  /**
   * Reads and checks a configuration file, or a program's own object (relative to the current folder, its problems without a
   * position). Unknown keys are among `problems`. Rejects with a `ConfigError` with all problems of a configuration that
   * cannot be parsed or does not fit its schema otherwise.
   */
  readConfig: (
    config: string | UserConfig,
    env: NodeJS.ProcessEnv,
    more?: Pick<ConfigLocation, "hooksUrl">,
  ) => Promise<ReadConfig>;
  /** Like `readConfig`, for a text that may not be in the file yet. */
  readConfigText: (file: string, text: string, references: TextOptions) => Promise<ReadConfig>;
  /** From what a person wrote to what the code uses: references, plugins, schema, defaults, presets, rules. */
  checkConfig: (written: unknown, options: CheckOptions) => Promise<ReadConfig>;
}

type TextOptions = Omit<References, "baseDir"> & Pick<ConfigLocation, "hooksUrl">;

/** Reads configurations that may name these drivers and those of their plugins. */
export function createConfigReader(builtIn: Drivers): ConfigReader {
  const reader: ConfigReader = {
    async readConfig(config, env, more = {}) {
      if (typeof config !== "string") return reader.checkConfig(config, { ...more, baseDir: process.cwd(), env });
      const file = path.resolve(config);
      const read = await reader.readConfigText(file, readConfigFile(file), { ...more, env });
      return { ...read, warnings: [...read.warnings, ...findIgnored(file)] };
    },
    async readConfigText(file, text, references) {
      const source = parseSource(file, text);
      return reader.checkConfig(source.value, { ...references, file, baseDir: path.dirname(file), source });
    },
    checkConfig: (written, options) => checkConfig(written, options, builtIn),
  };
  return reader;
}

const MAX_CONFIG_BYTES = 8 * 1024 * 1024;

/** The text of a configuration file. Throws a `ConfigError` if it cannot be read. */
export function readConfigFile(file: string): string {
  try {
    return readRegularFile(file, MAX_CONFIG_BYTES).toString("utf8");
  } catch (error) {
    throw new ConfigError([{ file, message: `The file cannot be read: ${messageOf(error)}.` }]);
  }
}

export interface CheckOptions extends ConfigLocation, References {
  /** Where the keys are in the file. */
  source?: Source;
}

async function checkConfig(whole: unknown, options: CheckOptions, builtIn: Drivers): Promise<ReadConfig> {
  const { file, source } = options;
  const written = withoutExtensions(whole);
  const { value, references, problems: unresolved, files } = resolveReferences(written, options);
  const plugins = await loadPlugins(isObject(value) ? value["plugins"] : undefined, options.baseDir, builtIn);
  const { drivers } = plugins;

  const sources = new Map(file !== undefined && source ? [[file, source]] : []);
  const placeAll = (problems: ConfigProblem[]): ConfigProblem[] =>
    problems.map((problem) => locate(hideValues(problem, references), sources, file)).toSorted(byPlace(file));

  dropEmptySections(value);
  renameChannels(value);
  const { unknown, invalid } = checkSchema(value, drivers, plugins.problems);
  const foreign = findForeignReferences(written);
  const odd = [...(source?.warnings ?? []), ...findOddSecrets(value)];
  const passable = [...(source?.duplicates ?? []), ...unresolved, ...foreign, ...without(unknown, unresolved)];
  if (!isValid(value, invalid)) {
    throw new ConfigError(placeAll([...passable, ...without(invalid, unresolved)]), [...files, ...plugins.files]);
  }

  const config = resolveConfig(value, options, drivers);
  for (const own of references.length > 0 ? config.hooks.mappings : []) {
    own.written = withReferences(own.mapping, (name) => appendSegment(own.key, name), references);
  }
  const presets = loadPresets(config, drivers, references);
  for (const [presetFile, presetSource] of presets.sources) sources.set(presetFile, presetSource);
  config.hooks.mappings.push(...presets.mappings);
  config.hooks.reads.push(...presets.reads);
  const found = [...presets.findings, ...applyRules(config, drivers)];
  const raised = [...passable, ...ofLevel("error", found)];
  const findings = found.map((finding) => toOrigin(finding, presets.origins));
  return {
    config,
    drivers,
    problems: placeAll([...passable, ...without(ofLevel("error", findings), unresolved)]),
    warnings: placeAll([
      ...odd,
      ...findOpenFiles(references, options.baseDir),
      ...without(ofLevel("warning", findings), unresolved),
    ]),
    isRefused: (block) =>
      raised.some(
        (problem) => (problem.file ?? file) === (block.file ?? file) && isWithin(problem.key ?? "", block.key),
      ),
    place: (problem) => locate(hideValues(toOrigin(problem, presets.origins), references), sources, file),
    files: [...sources.keys(), ...presets.files, ...files, ...plugins.files],
  };
}

/**
 * A valid configuration of a program's own, without presets and plugins. `drivers`: those that it may name. Throws a
 * `ConfigError` if it does not fit the schema.
 */
export function resolveUserConfig(
  user: UserConfig,
  origin: ConfigLocation,
  drivers: Drivers = NO_DRIVERS,
): ResolvedConfig {
  const value = structuredClone(user);
  const { unknown, invalid } = checkSchema(value, drivers);
  if (!isValid(value, [...unknown, ...invalid])) throw new ConfigError([...unknown, ...invalid]);
  return resolveConfig(value, origin, drivers);
}

const NO_DRIVERS: Drivers = { agents: {}, channels: {}, mailSources: {}, tools: {}, providers: {}, vendors: {} };

/** Keys `x-…` at the top are for the author: a place for the anchors of YAML. */
function withoutExtensions(whole: unknown): unknown {
  if (!isObject(whole)) return whole;
  return Object.fromEntries(Object.entries(whole).filter(([key]) => !key.startsWith("x-")));
}

/** In YAML a section is null if all that it holds are comments. `schema`: of the value. Looks at two levels. */
function dropEmptySections(value: unknown, schema?: unknown): void {
  for (const [key, part] of Object.entries(toObject(value))) {
    const own = (): unknown => readPath(schema ?? readSchema("config.base"), ["properties", key]);
    if (part === null && isSection(own())) removeKey(value, [key]);
    else if (!schema && isObject(part) && Object.values(part).includes(null)) dropEmptySections(part, own());
  }
}

/** A list or an object. */
function isSection(schema: unknown): boolean {
  const { type, $ref = "" } = toObject(schema);
  return [type].flat().some((name) => name === "object" || name === "array") || /agent|channels/.test(String($ref));
}

/** Gives the blocks of channels their usual names. A second block for a channel stays, and is an unknown key. */
function renameChannels(value: unknown): void {
  const channels = readPath(value, ["channels"]);
  if (!isObject(channels)) return;
  for (const [written, block] of Object.entries(channels)) {
    const name = toChannelName(written);
    if (Object.hasOwn(channels, name)) continue;
    channels[name] = block;
    delete channels[written];
  }
}

/**
 * Fills in the defaults, and finds what does not fit the schema. Unknown keys are removed, so that the rest can be checked
 * further. If a plugin is missing, the blocks of drivers are not checked.
 */
function checkSchema(
  value: unknown,
  drivers: Drivers,
  missing: ConfigProblem[] = [],
): Record<"unknown" | "invalid", ConfigProblem[]> {
  const find = (): SchemaProblem[] => checkConfigSchema(value, missing.length === 0 ? drivers : undefined);
  const found = find();
  const unknown = found.filter((problem) => problem.unknown);
  for (const { segments } of unknown) removeKey(value, segments);
  const invalid = unknown.length === 0 ? found : find();
  return { unknown: unknown.map(toConfigProblem), invalid: [...missing, ...invalid.map(toConfigProblem)] };
}

function removeKey(value: unknown, segments: Segment[]): void {
  const parent = readPath(value, segments.slice(0, -1));
  if (isObject(parent)) delete parent[segments.at(-1) ?? ""];
}

function isValid(_value: unknown, problems: ConfigProblem[]): _value is ValidConfig {
  return problems.length === 0;
}

/** Leaves out what is about a key with an unresolved reference, or about a block that holds one. */
function without(problems: ConfigProblem[], unresolved: ConfigProblem[]): ConfigProblem[] {
  return problems.filter(
    ({ key = "" }) => !unresolved.some(({ key: other = "" }) => isWithin(key, other) || isWithin(other, key)),
  );
}

/** Problems without repeats: a value that a preset hands on is checked again where it arrives. */
function ofLevel(level: Finding["level"], findings: Finding[]): ConfigProblem[] {
  const problems = findings
    .filter((finding) => finding.level === level)
    .map(({ file, key, message }) => ({ file, key, message }));
  return problems.filter(
    (problem, index) => problems.findIndex((other) => isDeepStrictEqual(other, problem)) === index,
  );
}

/** Adds the file, by default the configuration's own, and the position of the key there. */
function locate(
  problem: ConfigProblem,
  sources: ReadonlyMap<string, Source>,
  configFile: string | undefined,
): ConfigProblem {
  const file = problem.file ?? configFile;
  return { ...problem, file, ...sources.get(file ?? "")?.locate(problem.key ?? "") };
}

/** In reading order: the configuration's own file first, each from top to bottom. */
export function byPlace(first: string | undefined) {
  return (one: ConfigProblem, other: ConfigProblem): number =>
    Number(one.file !== first) - Number(other.file !== first) ||
    (one.line ?? 0) - (other.line ?? 0) ||
    (one.column ?? 0) - (other.column ?? 0);
}
