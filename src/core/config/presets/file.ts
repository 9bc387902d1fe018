import { existsSync, readdirSync, realpathSync } from "node:fs";
import path from "node:path";
import { ConfigError, type ConfigProblem, messageOf } from "../../errors.ts";
import type { Vendors } from "../../ports/vendor.ts";
import { orElse, readRegularFile } from "../../shared/system/files.ts";
import { PACKAGE_ROOT } from "../../shared/system/package.ts";
import { didYouMean, findNearest } from "../../shared/text/text.ts";
import { type Located, parseDataSource } from "../parse/source.ts";
import type { Preset } from "../schema/generated.ts";
import { toConfigProblem } from "../schema/problems.ts";
import { compileSchema, createBuiltCheck } from "../schema/validator.ts";

export const PRESETS_FOLDER = path.join(PACKAGE_ROOT, "presets");

/** The names of the package's presets. */
export function findPresets(): string[] {
  const names = existsSync(PRESETS_FOLDER) ? readdirSync(PRESETS_FOLDER) : [];
  return names.filter(isOfPackage).toSorted();
}

/** Whether the package has a preset of this name. */
function isOfPackage(name: string): boolean {
  return isPresetName(name) && existsSync(path.join(PRESETS_FOLDER, name, FILE));
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

/** Places that may have a preset. */
export interface PresetSearch {
  /** A path is relative to it. Absolute. */
  baseDir: string;
  /** Plugins bring vendors with presets. */
  vendors: Vendors;
}

/** One of a vendor or of the package by its name, or a folder, as `./presets/acme`. */
export function locatePreset(use: string, { baseDir, vendors }: PresetSearch): PresetPlace {
  const name = toPresetName(use);
  if (isPresetPath(use)) return { name, folder: path.resolve(baseDir, use), written: use };
  const folder = listPresetFolders(vendors).find((known) => path.basename(known) === use);
  return folder === undefined ? toBuiltIn(use) : { name, folder, written: use };
}

export function toPresetName(use: string): string {
  return isPresetPath(use) ? path.basename(path.resolve(use)) : use;
}

/** The folders that vendors of plugins bring, absolute. */
export function listPresetFolders(vendors: Vendors): string[] {
  return Object.values(vendors).flatMap(({ presets = [] }) => presets.map((folder) => path.resolve(folder)));
}

export function toBuiltIn(name: string): PresetPlace {
  return { name, folder: path.join(PRESETS_FOLDER, name), written: name };
}

/** Whether a preset is named by its folder. */
export function isPresetPath(use: string): boolean {
  return /^\.{0,2}\//.test(use);
}

/** Why a preset is not there, in a sentence; undefined: there is one. */
export function explainMissing(use: string, search: PresetSearch): string | undefined {
  const ofVendors = listPresetFolders(search.vendors).map((folder) => path.basename(folder));
  if (isPresetPath(use) || ofVendors.includes(use)) {
    const file = path.join(locatePreset(use, search).folder, FILE);
    return existsSync(file) ? undefined : `There is no preset "${use}": the file ${file} does not exist.`;
  }
  if (isOfPackage(use)) return undefined;
  const own = [`./presets/${use}`, `./${use}`].find((place) => explainMissing(place, search) === undefined);
  return `There is no preset "${use}"${own === undefined ? suggest(use, [...findPresets(), ...ofVendors]) : `. Did you mean "${own}"?`}`;
}

/** The end of that sentence: the preset that also has this name, or one that is similar. */
function suggest(use: string, known: string[]): string {
  const aliases = new Map(findPresets().flatMap((name) => listAliases(name).map((alias) => [alias, name] as const)));
  const similar = findNearest(use, [...aliases.keys()], ({ length }) => (length > 4 ? 1 : 0));
  const meant = similar === undefined ? undefined : aliases.get(similar);
  return meant === undefined ? didYouMean(use, known) : didYouMean(meant, [meant]);
}

/** Other names of a preset of the package. */
function listAliases(name: string): string[] {
  return orElse([], () => readPreset(name).preset.aliases ?? []);
}

/** Locates a preset. Throws a `ConfigError` if there is none. */
export function requirePreset(use: string, search: PresetSearch): PresetPlace {
  const message = explainMissing(use, search);
  if (message === undefined) return locatePreset(use, search);
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
  source: Located;
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
  const source = parseDataSource(file, text);
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
  if (!isPresetName(expected)) {
    const message = `The folder "${expected}" has the preset's name: rename it to small letters, digits and -, beginning with a letter.`;
    return [{ key: "name", message }];
  }
  if (name !== expected) return [{ key: "name", message: `The name must be "${expected}", as its folder.` }];
  if (isBuiltIn(folder) || !isOfPackage(name)) return [];
  const message = `"${name}" is a built-in preset. Choose another name, for the folder too.`;
  return [{ key: "name", message }];
}

export function isPresetName(name: string): boolean {
  return /^[a-z][a-z0-9-]*$/.test(name);
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
  return orElse(file, () => realpathSync.native(file));
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
