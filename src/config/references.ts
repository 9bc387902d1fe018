import path from "node:path";
import { type ConfigProblem, messageOf } from "../errors.ts";
import { appendSegment, isObject } from "../shared/json.ts";
import { readRegularFile } from "../shared/files.ts";

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

/** A configuration with its references resolved. */
export interface Resolved {
  value: unknown;
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
  const files = new Set<string>();
  return { value: copy(value, ""), problems, files: [...files] };

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
      const [name, fallback, file = ""] = groups;
      if (escape !== "") return reference.slice(1);
      if (name === undefined) return readFile(file, key) ?? reference;
      if (fallback !== undefined) return env[name] || fallback;
      const found = env[name];
      if (found === undefined) problems.push({ key, message: `the environment variable ${name} is not set` });
      return found ?? reference;
    });
  }

  function readFile(named: string, key: string): string | undefined {
    const file = path.resolve(baseDir, named);
    files.add(file);
    try {
      const text = unwritten?.get(file) ?? toText(readRegularFile(file, MAX_BYTES));
      return text.replace(/\r?\n$/, "");
    } catch (error) {
      problems.push({ key, message: `the file ${file} cannot be used: ${messageOf(error)}` });
      return undefined;
    }
  }
}

const MAX_BYTES = 65_536;

function toText(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Error("it is not UTF-8 text");
  }
}
