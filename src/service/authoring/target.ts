import { existsSync } from "node:fs";
import path from "node:path";
import { findParts } from "../../core/config/include.ts";
import { resolveUserConfig } from "../../core/config/load.ts";
import { parseSource } from "../../core/config/parse/source.ts";
import { readConfigFile } from "../../core/config/read-parts.ts";
import { resolveReferences } from "../../core/config/references.ts";
import { ConfigError } from "../../core/errors.ts";
import { orElse } from "../../core/shared/system/files.ts";
import { isObject, readPath, type Segment, toObject } from "../../core/shared/json.ts";

/** A file of a configuration as it is written. */
export interface WrittenFile {
  /** Absolute. */
  file: string;
  /** undefined: the file does not exist yet. */
  text: string | undefined;
  /** The parsed text, with its references. */
  written: Record<string, unknown>;
}

/** The file of a configuration that a command changes. */
export interface Target extends WrittenFile {
  /** The configuration that it is part of, or itself, absolute. */
  config: string;
  /** All files of the configuration, the including one first. */
  files: WrittenFile[];
  /** The state folder, absolute. Secrets are stored there. */
  stateDir: string;
  /** The values of `${NAME}`. */
  env: NodeJS.ProcessEnv;
}

/** Reads a configuration and its parts as they are written. Throws a `ConfigError` on bad syntax. */
export function readTarget(config: string, env: NodeJS.ProcessEnv): Target {
  const main = readFile(config);
  const files = [main, ...findTargetParts(main, env).files.map(readFile)];
  const target = { ...main, config, files, env, stateDir: "" };
  return { ...target, stateDir: findPath(target, ["store", "path"]) ?? DEFAULTS(config).store.path };
}

const DEFAULTS = (config: string) => resolveUserConfig({}, { baseDir: path.dirname(config) });

function readFile(file: string): WrittenFile {
  if (!existsSync(file)) return { file, text: undefined, written: {} };
  const text = readConfigFile(file);
  return { file, text, written: text.trim() === "" ? {} : toObject(parseSource(file, text).value) };
}

function findTargetParts({ file, written }: WrittenFile, env: NodeJS.ProcessEnv) {
  const baseDir = path.dirname(file);
  const { value } = resolveReferences(written["include"], { env, baseDir });
  return findParts(value, { file, baseDir });
}

/** The files of a configuration, absolute, the including one first: also of one that cannot be used. */
export function listConfigFiles(config: string, env: NodeJS.ProcessEnv): string[] {
  return orElse([config], () => [config, ...findTargetParts(readFile(config), env).files]);
}

/** The same configuration, of which another file is to be changed. */
export function inFile(target: Target, file: string): Target {
  const found = target.files.find((one) => one.file === file);
  return found ? { ...target, ...found } : target;
}

/** The target with another text. */
export function withText(target: Target, text: string): Target {
  const changed = { file: target.file, text, written: toObject(parseSource(target.file, text).value) };
  const files = target.files.map((one) => (one.file === target.file ? changed : one));
  return { ...target, ...changed, files };
}

/**
 * The part that gets new entries. It may not exist yet. Default: the including file. Throws a `ConfigError` if the configuration
 * does not include it.
 */
export function selectPart(target: Target, part: string | undefined, cwd: string): Target {
  if (part === undefined) return target;
  const file = path.resolve(cwd, part);
  const main = target.files[0];
  if (main && (target.files.some((one) => one.file === file) || findTargetParts(main, target.env).isPart(file))) {
    const chosen = target.files.find((one) => one.file === file) ?? readFile(file);
    return { ...target, ...chosen, files: [...target.files.filter((one) => one.file !== file), chosen] };
  }
  const message = `This file is no part of ${target.config}: no entry of include names it.`;
  throw new ConfigError([{ file, message }]);
}

/** The same configuration, of which the file with a key is to be changed, else the same file. */
export function whereSet(target: Target, key: readonly Segment[]): Target {
  const found = findFileWith(target, key);
  return found ? { ...target, ...found } : target;
}

/** The file that has a key, the including one first. */
function findFileWith({ files }: Pick<Target, "files">, key: readonly Segment[]): WrittenFile | undefined {
  return files.find(({ written }) => readPath(written, key) !== undefined);
}

/** A value as it is written, in any file of the configuration. */
export function readWritten(target: Pick<Target, "files">, key: readonly Segment[]): unknown {
  return readPath(findFileWith(target, key)?.written, key);
}

/** A path of the configuration, absolute; undefined: it has none. */
function findPath(target: Pick<Target, "files" | "env">, key: readonly Segment[]): string | undefined {
  const found = findFileWith(target, key);
  if (!found) return undefined;
  const baseDir = path.dirname(found.file);
  const { value } = resolveReferences(readPath(found.written, key), { env: target.env, baseDir });
  return typeof value === "string" ? path.resolve(baseDir, value) : undefined;
}

/** The folder of a file's transforms, absolute: its own, or that of the including file. */
export function findTransformsDir(target: Target, file: string): string {
  const key = ["hooks", "transformsDir"];
  const own = target.files.filter((one) => one.file === file || one.file === target.config);
  const ordered = own.toSorted((one, other) => Number(other.file === file) - Number(one.file === file));
  return findPath({ files: ordered, env: target.env }, key) ?? DEFAULTS(target.config).hooks.transformsDir;
}

/** The items of a list that the files have together, each with its file and its place there. */
export function listItems(
  { files }: Pick<Target, "files">,
  key: readonly string[],
): { file: string; at: Segment[]; item: unknown }[] {
  return files.flatMap(({ file, written }) => {
    const list = readPath(written, key);
    if (!Array.isArray(list)) return [];
    return list.map((item: unknown, index) => ({ file, at: [...key, index], item }));
  });
}

/** Whether a configuration has nothing yet. */
export function isEmpty({ written, files }: Target): boolean {
  return [written, ...files.map((one) => one.written)].every((one) => isObject(one) && Object.keys(one).length === 0);
}
