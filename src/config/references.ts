import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import path from "node:path";
import { type ConfigProblem, messageOf } from "../errors.ts";
import { appendSegment, isObject } from "../shared/json.ts";

/** `${NAME}` or `${file:PATH}`; with a second `$` before it the text itself. */
const REFERENCE = /(\$?)\$\{(?:([A-Za-z_]\w*)|file:([^}]+))\}/g;

/** Where the values of references come from. */
export interface References {
  env: NodeJS.ProcessEnv;
  /** Folder that the paths of files are relative to, absolute. */
  baseDir: string;
  /** Texts of files that are not written yet, by absolute path. */
  unwritten?: ReadonlyMap<string, string>;
}

/** A configuration with its references resolved. */
export interface Resolved {
  value: unknown;
  problems: ConfigProblem[];
  /** The files that were referred to, absolute, also those that could not be read. */
  files: string[];
}

/**
 * A copy of a configuration with `${NAME}` and `${file:PATH}` replaced in every string value, keys left as they are: by the
 * environment variable, by the file's text without its last line break. What cannot be had is a problem, and its
 * reference stays. What an object sets to undefined is left out, as if it had not been written.
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
    // Not by assignment: a key `__proto__` must stay a key, to be reported as an unknown one.
    return Object.fromEntries(entries.map(([name, child]) => [name, copy(child, appendSegment(key, name))]));
  }

  function replace(text: string, key: string): string {
    return text.replace(REFERENCE, (reference, escape: string, name: string | undefined, file: string) => {
      if (escape !== "") return reference.slice(1);
      return (name === undefined ? readFile(file, key) : readVariable(name, key)) ?? reference;
    });
  }

  function readVariable(name: string, key: string): string | undefined {
    const found = env[name];
    if (found === undefined) problems.push({ key, message: `the environment variable ${name} is not set` });
    return found;
  }

  function readFile(named: string, key: string): string | undefined {
    const file = path.resolve(baseDir, named);
    files.add(file);
    try {
      const text = unwritten?.get(file) ?? readSecretFile(file);
      return text.replace(/\r?\n$/, "");
    } catch (error) {
      problems.push({ key, message: `the file ${file} cannot be used: ${messageOf(error)}` });
      return undefined;
    }
  }
}

const MAX_BYTES = 65_536;

/**
 * The text of a small file. Throws where it is no regular file, over 64 KiB or no UTF-8; the
 * message never holds any of it.
 */
function readSecretFile(file: string): string {
  // A named pipe that nobody writes to would otherwise hold up the whole program.
  const handle = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!fstatSync(handle).isFile()) throw new Error("it is not a regular file");
    return toText(readStart(handle));
  } finally {
    closeSync(handle);
  }
}

function readStart(handle: number): Buffer {
  const bytes = Buffer.alloc(MAX_BYTES + 1);
  let length = 0;
  for (let read = -1; read !== 0 && length < bytes.length; length += read) {
    read = readSync(handle, bytes, length, bytes.length - length, null);
  }
  if (length > MAX_BYTES) throw new Error(`it is over ${MAX_BYTES} bytes`);
  return bytes.subarray(0, length);
}

function toText(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Error("it is not UTF-8 text");
  }
}
