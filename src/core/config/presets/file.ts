import { existsSync, readdirSync, realpathSync } from "node:fs";
import path from "node:path";
import { ConfigError, type ConfigProblem, messageOf } from "../../errors.ts";
import { orElse, readRegularFile } from "../../shared/system/files.ts";
import { PACKAGE_ROOT } from "../../shared/system/package.ts";
import { didYouMean } from "../../shared/text/text.ts";
import { parseSource, type Source } from "../parse/source.ts";
import type { Preset } from "../schema/generated.ts";
import { toConfigProblem } from "../schema/problems.ts";
import { compileSchema, createBuiltCheck } from "../schema/validator.ts";

export const PRESETS_FOLDER = path.join(PACKAGE_ROOT, "presets");

/** The names of the package's presets. */
export function findPresets(): string[] {
  const names = existsSync(PRESETS_FOLDER) ? readdirSync(PRESETS_FOLDER) : [];
  return names.filter((name) => existsSync(path.join(PRESETS_FOLDER, name, FILE))).toSorted();
}

const FILE = "preset.json";

/** Which preset is meant. */
export interface PresetPlace {
  name: string;
  /** Absolute. Its `preset.json` may be missing. */
  folder: string;
  /** The name or the path, as a person wrote it. */
  written: string;
}

/** One of the package by its name, or a folder, as `./presets/acme`, relative to `baseDir`. */
export function locatePreset(use: string, baseDir: string): PresetPlace {
  if (!isPath(use)) return toBuiltIn(use);
  const folder = path.resolve(baseDir, use);
  return { name: path.basename(folder), folder, written: use };
}

export function toBuiltIn(name: string): PresetPlace {
  return { name, folder: path.join(PRESETS_FOLDER, name), written: name };
}

function isPath(use: string): boolean {
  return /^\.{0,2}\//.test(use);
}

/** Why a preset is not there, in a sentence; undefined: there is one. */
export function explainMissing(use: string, baseDir: string): string | undefined {
  if (isPath(use)) {
    const file = path.join(locatePreset(use, baseDir).folder, FILE);
    return existsSync(file) ? undefined : `There is no preset "${use}": the file ${file} does not exist.`;
  }
  const known = findPresets();
  if (known.includes(use)) return undefined;
  const own = [`./presets/${use}`, `./${use}`].find((place) => explainMissing(place, baseDir) === undefined);
  return `There is no preset "${use}"${own === undefined ? didYouMean(use, known) : `. Did you mean "${own}"?`}`;
}

/** Locates a preset. Throws a `ConfigError` if there is none. */
export function requirePreset(use: string, baseDir: string): PresetPlace {
  const message = explainMissing(use, baseDir);
  if (message === undefined) return locatePreset(use, baseDir);
  throw new ConfigError([{ message }]);
}

/** The part of a preset that the sender's API can register; undefined: none, or the preset cannot be read. */
export function findRegistration(place: string): Preset["registration"] {
  return orElse(undefined, () => readPreset(place).preset.registration);
}

export interface PresetFile {
  preset: Preset;
  /** Absolute, as `folder`. */
  file: string;
  folder: string;
  source: Source;
}

const checkPreset = createBuiltCheck("preset");

const MAX_BYTES = 8 * 1024 * 1024;

/** By path, so that a reload parses and checks only what has changed. */
const known = new Map<string, { text: string; preset: PresetFile }>();

/** `place`: the name of one of the package, or an absolute folder. Throws a `ConfigError` if the file is not a valid preset. */
export function readPreset(place: string): PresetFile {
  const folder = path.resolve(PRESETS_FOLDER, place);
  const file = path.join(folder, FILE);
  const text = readText(file);
  const last = known.get(file);
  if (last?.text === text) return last.preset;
  const preset = parsePreset(text, file, folder);
  known.set(file, { text, preset });
  return preset;
}

function readText(file: string): string {
  try {
    return readRegularFile(file, MAX_BYTES).toString("utf8");
  } catch (error) {
    throw new ConfigError([{ file, message: `The file cannot be read: ${messageOf(error)}.` }]);
  }
}

function parsePreset(text: string, file: string, folder: string): PresetFile {
  const source = parseSource(file, text);
  const { value } = source;
  const problems = checkPreset(value).map(toConfigProblem);
  if (isPreset(value, problems)) {
    problems.push(...checkName(value, folder), ...checkParameters(value, folder));
    if (problems.length === 0) return { preset: value, file, folder, source };
  }
  throw new ConfigError(problems.map((problem) => ({ ...problem, file, ...source.locate(problem.key ?? "") })));
}

function isPreset(_value: unknown, problems: ConfigProblem[]): _value is Preset {
  return problems.length === 0;
}

/** The name of a built-in preset stands for its sender: what is known of that must not count for another. */
function checkName({ name }: Preset, folder: string): ConfigProblem[] {
  const expected = path.basename(folder);
  if (!/^[a-z][a-z0-9-]*$/.test(expected)) {
    const message = `The folder "${expected}" has the preset's name: rename it to small letters, digits and -, beginning with a letter.`;
    return [{ key: "name", message }];
  }
  if (name !== expected) return [{ key: "name", message: `The name must be "${expected}", as its folder.` }];
  if (isBuiltIn(folder) || !findPresets().includes(name)) return [];
  const message = `"${name}" is a built-in preset. Choose another name, for the folder too.`;
  return [{ key: "name", message }];
}

/** Only presets of other folders: tests check those of the package. */
function checkParameters({ parameters = {}, ignore = {}, registration }: Preset, folder: string): ConfigProblem[] {
  if (isBuiltIn(folder)) return [];
  const switches = Object.entries(ignore).map(([name, schema]) => [`ignore.${name}`, schema] as const);
  const own = Object.entries(parameters).map(([name, schema]) => [`parameters.${name}`, schema] as const);
  const schemas = [...own, ...switches, ["registration.place", registration?.place ?? true] as const];
  return schemas.flatMap(([key, schema]) => {
    try {
      compileSchema(schema);
      return [];
    } catch (error) {
      return [{ key, message: `This is not a JSON Schema: ${messageOf(error)}.` }];
    }
  });
}

/** Whether the preset of a folder is the package's. */
export function isBuiltIn(folder: string): boolean {
  return toRealPath(path.dirname(folder)) === toRealPath(PRESETS_FOLDER);
}

/** The text of a template, which must be a file below the preset's folder. Throws an `Error` that says what is wrong. */
export function readTemplate({ folder }: Pick<PresetFile, "folder">, name: string): string {
  const file = path.join(folder, name);
  // Presets of the package share some.
  const root = toRealPath(isBuiltIn(folder) ? PRESETS_FOLDER : folder);
  if (existsSync(file) && !toRealPath(file).startsWith(root + path.sep)) {
    throw new Error(`${name} is outside of the preset's folder.`);
  }
  try {
    return readRegularFile(file, MAX_BYTES).toString("utf8");
  } catch (error) {
    throw new Error(`${file} cannot be read: ${messageOf(error)}.`, { cause: error });
  }
}

function toRealPath(file: string): string {
  return orElse(file, () => realpathSync(file));
}

/** The name of a preset's type in `hookline/presets`: that of its sender, as `GitHub`, unless two presets have one sender. */
export function toTypeName(preset: string): string {
  const title = readTitle(preset);
  const isShared = findPresets().some((other) => other !== preset && readTitle(other) === title);
  return toPascalCase(isShared ? preset : title);
}

function readTitle(preset: string): string {
  const title = readPreset(preset).preset.common?.["name"];
  return typeof title === "string" && !title.includes("{{") ? title : preset;
}

function toPascalCase(text: string): string {
  const parts = text.split(/[^A-Za-z0-9]+/).filter((part) => part !== "");
  return parts.map((part) => part.slice(0, 1).toUpperCase() + part.slice(1)).join("");
}
