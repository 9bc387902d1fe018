import { didYouMean } from "../../shared/text/text.ts";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { ConfigError } from "../../errors.ts";
import { PACKAGE_ROOT } from "../../shared/system/package.ts";
import { parseSource, type Source } from "../parse/source.ts";
import type { Preset } from "../schema/generated.ts";
import { toConfigProblem } from "../schema/problems.ts";
import { createBuiltCheck } from "../schema/validator.ts";

export const PRESETS_FOLDER = path.join(PACKAGE_ROOT, "presets");

export function findPresets(folder = PRESETS_FOLDER): string[] {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.filter((name) => existsSync(path.join(folder, name, "preset.json"))).toSorted();
}

/** The name. Throws a `ConfigError` if the package has no such preset. */
export function requirePreset(name: string): string {
  const known = findPresets();
  if (known.includes(name)) return name;
  throw new ConfigError([{ message: `There is no preset "${name}"${didYouMean(name, known)}` }]);
}

/** What the API of a preset's sender can register; undefined: nothing, or there is no such preset. */
export function findRegistration(name: string): Preset["registration"] {
  return findPresets().includes(name) ? readPreset(name).preset.registration : undefined;
}

export interface PresetFile {
  preset: Preset;
  /** Absolute, as `folder`. */
  file: string;
  folder: string;
  source: Source;
}

const checkPreset = createBuiltCheck("preset");

/** By path, so that a reload parses and checks only what has changed. */
const known = new Map<string, { text: string; preset: PresetFile }>();

/** Throws a `ConfigError` if the file is not a valid preset. */
export function readPreset(name: string, root = PRESETS_FOLDER): PresetFile {
  const folder = path.join(root, name);
  const file = path.join(folder, "preset.json");
  const text = readFileSync(file, "utf8");
  const last = known.get(file);
  if (last?.text === text) return last.preset;
  const preset = parsePreset(text, file, folder);
  known.set(file, { text, preset });
  return preset;
}

function parsePreset(text: string, file: string, folder: string): PresetFile {
  const source = parseSource(file, text);
  const { value } = source;
  if (isPreset(value)) return { preset: value, file, folder, source };
  const problems = checkPreset(value).map(toConfigProblem);
  throw new ConfigError(problems.map((problem) => ({ ...problem, file, ...source.locate(problem.key ?? "") })));
}

function isPreset(value: unknown): value is Preset {
  return checkPreset(value).length === 0;
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
