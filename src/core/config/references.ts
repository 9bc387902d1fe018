import path from "node:path";
import { type ConfigProblem, messageOf } from "../errors.ts";
import { appendSegment, isObject, isWithin, readOwn, type Segment } from "../shared/json.ts";
import { readRegularFile } from "../shared/system/files.ts";

/** `${NAME}`, `${NAME:-default}` or `${file:PATH}`; with a second `$` in front, the text itself. */
const REFERENCE = /(\$?)\$\{(?:([A-Za-z_]\w*)(?::-([^}]*))?|file:([^}]+))\}/g;

/** Where references get their values. */
export interface References {
  env: NodeJS.ProcessEnv;
  /** Folder that paths are relative to, absolute. */
  baseDir: string;
  /** Texts of files that are not written yet, by absolute path. */
  unwritten?: ReadonlyMap<string, string>;
}

/** A reference that has a value. */
export interface Reference {
  /** The key of its text, as a dotted path. */
  key: string;
  /** The whole text, as it is written. */
  written: string;
  /** The reference alone: `${NAME}`. */
  reference: string;
  value: string;
}

export interface Resolved {
  value: unknown;
  references: Reference[];
  problems: ConfigProblem[];
  /** The files of all references, absolute, also those that could not be read. */
  files: string[];
}

/**
 * A copy of a configuration with the references in all its strings replaced: `${NAME}` by the environment variable,
 * `${file:PATH}` by the file's text without its last line break. A reference without a value is a problem and stays as it
 * is. Keys that are undefined are left out.
 */
export function resolveReferences(value: unknown, { env, baseDir, unwritten }: References): Resolved {
  const problems: ConfigProblem[] = [];
  const references: Reference[] = [];
  const files = new Set<string>();
  return { value: copy(value, ""), references, problems, files: [...files] };

  function copy(part: unknown, key: string): unknown {
    if (typeof part === "string") return replace(part, key);
    if (Array.isArray(part)) return part.map((item, index) => copy(item, appendSegment(key, index)));
    if (!isObject(part)) return part;
    const entries = Object.entries(part).filter(([, child]) => child !== undefined);
    // An assignment would not keep a key `__proto__`, which must be reported as unknown.
    return Object.fromEntries(entries.map(([name, child]) => [name, copy(child, appendSegment(key, name))]));
  }

  function replace(text: string, key: string): string {
    return text.replace(REFERENCE, (reference, escape: string, ...groups: (string | undefined)[]) => {
      if (escape !== "") return reference.slice(1);
      const found = find(key, groups);
      if (found === undefined) return reference;
      references.push({ key, written: text, reference, value: found });
      return found;
    });
  }

  function find(key: string, [name, fallback, file = ""]: (string | undefined)[]): string | undefined {
    if (name === undefined) return readFile(file, key);
    if (fallback !== undefined) return env[name] || fallback;
    const found = env[name];
    if (found === undefined) problems.push({ key, message: `The environment variable ${name} is not set. Set it.` });
    return found;
  }

  function readFile(named: string, key: string): string | undefined {
    const file = path.resolve(baseDir, named);
    files.add(file);
    try {
      const text = unwritten?.get(file) ?? toText(readRegularFile(file, MAX_BYTES));
      return text.replace(/\r?\n$/, "");
    } catch (error) {
      problems.push({ key, message: `The file ${file} cannot be used: ${messageOf(error)}.` });
      return undefined;
    }
  }
}

/** A copy of the object with its texts as they are written. `keyOf`: where a field is in the configuration. */
export function withReferences<Fields extends object>(
  fields: Fields,
  keyOf: (name: string) => string,
  references: readonly Reference[],
): Fields {
  const texts = new Map(references.map(({ key, written }) => [key, written]));
  const copy = structuredClone(fields);
  for (const name of Object.keys(copy)) restore(copy, name, keyOf(name));
  return copy;

  function restore(parent: object, name: Segment, key: string): void {
    const value = readOwn(parent, name);
    const written = texts.get(key);
    if (written !== undefined) return void Reflect.set(parent, name, written);
    if (typeof value !== "object" || value === null) return;
    const names: Segment[] = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
    for (const child of names) restore(value, child, appendSegment(key, child));
  }
}

/** Shorter ones are words that a message can have anyway. */
const MIN_HIDDEN = 4;

/** The problem with references in place of their values, which may be secret. */
export function hideValues<Problem extends ConfigProblem>(problem: Problem, references: Reference[]): Problem {
  const { key = "" } = problem;
  const quoted = references.filter(
    (reference) =>
      reference.value.length >= MIN_HIDDEN && (isWithin(reference.key, key) || isWithin(key, reference.key)),
  );
  if (quoted.length === 0) return problem;
  const message = quoted.reduce((text, { value, reference }) => text.replaceAll(value, reference), problem.message);
  // An excerpt without a line is cut from the text of the key, so it can have a part of a value. One of a file has its line.
  const isQuoted = problem.line === undefined || quoted.some(({ value }) => problem.excerpt?.includes(value));
  return { ...problem, message, excerpt: isQuoted ? undefined : problem.excerpt };
}

const MAX_BYTES = 65_536;

function toText(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Error("it is not UTF-8 text");
  }
}
