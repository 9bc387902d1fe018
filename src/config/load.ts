import { statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { ConfigError, type ConfigProblem, messageOf } from "../errors.ts";
import { type Examination, examineConfig } from "./examine.ts";
import type { Position } from "./parse/parsed-text.ts";
import { parseSource, type Source } from "./parse/source.ts";
import { loadPlugins } from "./plugins/load.ts";
import { toOrigin } from "./presets.ts";
import type { References } from "./references.ts";
import type { Origin } from "./resolve.ts";
import type { UserConfig } from "./schema/generated.ts";
import type { ResolvedConfig } from "./types.ts";

/**
 * Reads a configuration file, or a configuration that a program made (relative to the current folder, its problems without a
 * place), and says everything that is wrong with it. Throws a `ConfigError` only where a file cannot be read or parsed.
 */
export async function readConfig(config: string | UserConfig, env: NodeJS.ProcessEnv): Promise<ReadConfig> {
  if (typeof config !== "string") return read(config, { baseDir: process.cwd(), env });
  const file = path.resolve(config);
  return readConfigText(file, await readText(file), { env });
}

/** As `readConfig`, of a text that may still be on its way to the file. */
export async function readConfigText(
  file: string,
  text: string,
  references: Omit<References, "baseDir">,
): Promise<ReadConfig> {
  const source = parseSource(file, text);
  return read(source.value, { ...references, file, baseDir: path.dirname(file), source });
}

interface ReadOptions extends Origin, References {
  source?: Source;
}

async function read(written: unknown, { source, ...options }: ReadOptions): Promise<ReadConfig> {
  const { plugins, problems, files } = await loadPlugins(written, options);
  const examination = examineConfig(written, { ...options, plugins });
  const all = { ...examination, problems: [...problems, ...examination.problems] };
  const { files: own, ...config } = toReadConfig(all, source);
  return { ...config, files: [...own, ...files] };
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    const reason = messageOf(error);
    throw new ConfigError([{ file, message: `it cannot be read: ${reason}` }]);
  }
}

/** A configuration with all that keeps it from being used. */
export interface ReadConfig {
  /** Without what has problems: good for looking on, good for use where there are none. */
  config: ResolvedConfig;
  problems: ConfigProblem[];
  warnings: ConfigProblem[];
  /**
   * Where a key stands, or the nearest thing around it that was written. `file`: a preset's; default: the
   * configuration's own.
   */
  locate(key: string, file?: string): Position | undefined;
  /** A problem that was found later, with its file and its place there. */
  place(problem: ConfigProblem): ConfigProblem;
  /** Every file that was read, absolute: what to watch. */
  files: string[];
}

/** Gives every problem its place: in the file that it names, else in the configuration's own. */
export function toReadConfig(examination: Examination, source?: Source): ReadConfig {
  const { config, problems, warnings, presets, origins, references } = examination;
  const sources = new Map([...(config.file && source ? [[config.file, source] as const] : []), ...presets]);
  const locate = (key: string, file = config.file): Position | undefined => sources.get(file ?? "")?.locate(key);
  const place = (problem: ConfigProblem): ConfigProblem => {
    const file = problem.file ?? config.file;
    return { ...problem, file, ...locate(problem.key ?? "", file) };
  };
  return {
    config,
    problems: [...(source?.duplicates ?? []), ...problems.map(place)].toSorted(byPlace(config.file)),
    warnings: warnings.map(place).toSorted(byPlace(config.file)),
    locate,
    place: (problem) => place(toOrigin(problem, origins)),
    files: [...sources.keys(), ...references],
  };
}

/** As one reads: the configuration's own file first, from top to bottom. */
export function byPlace(first: string | undefined) {
  return (one: ConfigProblem, other: ConfigProblem): number =>
    Number(one.file !== first) - Number(other.file !== first) ||
    (one.line ?? 0) - (other.line ?? 0) ||
    (one.column ?? 0) - (other.column ?? 0);
}

const FILE_NAMES = ["webhooks.json5", "webhooks.yaml", "webhooks.yml", "webhooks.json"];

/**
 * The configuration file, absolute: the one that `--config` names, else `WEBHOOKS_CONFIG`, else the first of
 * the usual names in `cwd`. Throws a `ConfigError` that says what was looked for.
 */
export function findConfigFile(options: { flag?: string; env: NodeJS.ProcessEnv; cwd: string }): string {
  const { flag, env, cwd } = options;
  if (flag !== undefined) return requireFile(path.resolve(cwd, flag), "--config");
  if (env["WEBHOOKS_CONFIG"]) return requireFile(path.resolve(cwd, env["WEBHOOKS_CONFIG"]), "WEBHOOKS_CONFIG");

  const found = FILE_NAMES.map((name) => path.join(cwd, name)).find(isFile);
  if (found !== undefined) return found;
  const message = `No configuration found: looked for ${FILE_NAMES.join(", ")} in ${cwd}.`;
  throw new ConfigError([{ message: `${message} Name one with --config or WEBHOOKS_CONFIG.` }]);
}

function requireFile(file: string, named: string): string {
  if (isFile(file)) return file;
  throw new ConfigError([{ file, message: `There is no such file; ${named} names it.` }]);
}

function isFile(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
}
