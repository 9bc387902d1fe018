import { existsSync, statSync } from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { ConfigError, type ConfigProblem, type FoundProblem, type PartPlaces } from "../errors.ts";
import { appendSegment, isObject, isWithin, readOwn, readPath, type Segment, toKeyPath } from "../shared/json.ts";
import type { Origin } from "./merge.ts";
import { parseSource, type Source } from "./parse/source.ts";
import { createPlaces } from "./places.ts";
import { type Drivers, loadPlugins } from "./plugins.ts";
import { loadPresets, toOrigin } from "./presets/load-presets.ts";
import { readConfigFile, readParts } from "./read-parts.ts";
import { type Reference, type References, withReferences } from "./references.ts";
import { type ConfigLocation, resolveConfig } from "./resolve.ts";
import type { Finding } from "./rules/finding.ts";
import { applyRules } from "./rules/rules.ts";
import { findOddSecrets, findOpenFiles } from "./rules/secrets.ts";
import { checkConfigSchema } from "./schema/blocks.ts";
import type { UserConfig, ValidConfig } from "./schema/generated.ts";
import { type SchemaProblem, toConfigProblem } from "./schema/problems.ts";
import type { ResolvedConfig } from "./resolved-config.ts";
import { setAt, typeReferences } from "./typed-references.ts";

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
    { message: `${message} \`npx hookline init\` writes one; --config or WEBHOOKS_CONFIG names another.` },
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
  place(problem: FoundProblem): ConfigProblem;
  /** The folder that the paths of a driver's block are relative to, absolute. `key`: that of the block. */
  folderOf(key: string): string;
  /** Where a key is written. */
  originOf(key: string): Origin;
  /** Every file that was read, or looked for, absolute: what to watch. */
  files: string[];
  /** Where more files of the configuration may appear. */
  parts: PartPlaces;
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

export interface CheckOptions extends ConfigLocation, References {
  /** Where the keys are in the file. */
  source?: Source;
}

async function checkConfig(whole: unknown, options: CheckOptions, builtIn: Drivers): Promise<ReadConfig> {
  const { file } = options;
  const read = readParts(whole, options);
  const { sources, unresolved } = read;
  const { value, references, find } = read.merged;
  const places = createPlaces(read, options);
  const plugins = await loadPlugins(readOwn(value, "plugins"), options.baseDir, builtIn);
  const { drivers } = plugins;
  const files = [...read.files, ...plugins.files];

  const { unknown, invalid } = checkSchema(value, drivers, { missing: plugins.problems, references, unresolved });
  const odd = [...read.warnings, ...findOddSecrets(value)];
  const passable = [...read.problems, ...unresolved, ...without(unknown, unresolved)];
  if (!isValid(value, invalid)) {
    const problems = places.placeAll([...passable, ...without(invalid, unresolved)]);
    throw Object.assign(new ConfigError(problems, [...sources.keys(), ...files]), { parts: read.parts });
  }

  const config = resolveConfig(value, { ...options, find, parts: read.partFiles }, drivers);
  for (const own of references.length > 0 ? config.hooks.mappings : []) {
    own.written = withReferences(own.written ?? own.mapping, (name) => appendSegment(own.key, name), references);
  }
  const presets = loadPresets(config, drivers, references);
  for (const [presetFile, presetSource] of presets.sources) sources.set(presetFile, presetSource);
  config.hooks.mappings.push(...presets.mappings);
  config.hooks.reads.push(...presets.reads);
  config.hooks.writes.push(...presets.writes);
  const folderOf = (key: string): string => find(`${key}.kind`).baseDir;
  const ownFiles = [
    ...(file === undefined ? [] : [file]),
    ...sources.keys(),
    ...read.files,
    path.join(options.baseDir, ".env"),
  ];
  const found = [...presets.findings, ...applyRules(config, drivers, { folderOf, ownFiles })];
  const raised = [...passable, ...ofLevel("error", found)];
  const findings = found.map((finding) => toOrigin(finding, presets.origins));
  /** A key of the configuration is in one of its files. */
  const scopeOf = (of: string | undefined): string | undefined => (places.isOwn(of) ? file : of);
  return {
    config,
    drivers,
    problems: places.placeAll([...passable, ...without(ofLevel("error", findings), unresolved)]),
    warnings: places.placeAll([
      ...odd,
      ...findOpenFiles(references, (key) => find(key).baseDir),
      ...without(ofLevel("warning", findings), unresolved),
    ]),
    isRefused: (block) =>
      raised.some((problem) => scopeOf(problem.file) === scopeOf(block.file) && isWithin(problem.key ?? "", block.key)),
    place: (problem) => places.place(toOrigin(problem, presets.origins)),
    folderOf,
    originOf: find,
    files: [...sources.keys(), ...presets.files, ...files],
    parts: read.parts,
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

/**
 * Fills in the defaults, and finds what does not fit the schema. Unknown keys are removed, so that the rest can be checked
 * further. If a plugin is missing, the blocks of drivers are not checked.
 */
function checkSchema(
  value: unknown,
  drivers: Drivers,
  { missing = [], references = [], unresolved = [] }: SchemaCheckOptions = {},
): Record<"unknown" | "invalid", ConfigProblem[]> {
  const find = (): SchemaProblem[] => checkConfigSchema(value, missing.length === 0 ? drivers : undefined);
  const set = (segments: readonly Segment[], typed: unknown): void => setAt(value, segments, typed);
  const place = { find, keyOf: toKeyPath, set, unresolved: unresolved.map(({ key = "" }) => key) };
  const found = typeReferences(references, place);
  const unknown = found.filter((problem) => problem.unknown);
  for (const { segments } of unknown) removeKey(value, segments);
  const invalid = unknown.length === 0 ? found : typeReferences(references, place);
  return { unknown: unknown.map(toConfigProblem), invalid: [...missing, ...invalid.map(toConfigProblem)] };
}

interface SchemaCheckOptions {
  /** Why plugins cannot be used. */
  missing?: ConfigProblem[];
  references?: readonly Reference[];
  /** References without a value. */
  unresolved?: ConfigProblem[];
}

function removeKey(value: unknown, segments: Segment[]): void {
  const parent = readPath(value, segments.slice(0, -1));
  if (isObject(parent)) delete parent[segments.at(-1) ?? ""];
}

function isValid(_value: unknown, problems: ConfigProblem[]): _value is ValidConfig {
  return problems.length === 0;
}

/** Leaves out what is about a key with an unresolved reference, or about a block that holds one. */
function without(problems: FoundProblem[], unresolved: ConfigProblem[]): FoundProblem[] {
  return problems.filter(
    ({ key = "" }) => !unresolved.some(({ key: other = "" }) => isWithin(key, other) || isWithin(other, key)),
  );
}

/** Problems without repeats: a value that a preset hands on is checked again where it arrives. */
function ofLevel(level: Finding["level"], findings: Finding[]): FoundProblem[] {
  const problems = findings
    .filter((finding) => finding.level === level)
    .map(({ file, key, message, other }) => ({ file, key, message, ...(other && { other }) }));
  return problems.filter(
    (problem, index) => problems.findIndex((other) => isDeepStrictEqual(other, problem)) === index,
  );
}
