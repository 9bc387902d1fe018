import { existsSync } from "node:fs";
import path from "node:path";
import { readRegularFile, replaceFile } from "../../core/shared/system/files.ts";
import { hashJson } from "../../core/shared/hash.ts";
import { isObject, parseJson, toObject, toObjects, toText } from "../../core/shared/json.ts";
import type { CallDescription, LeftOutCall, Offer } from "../../core/ports/tool-set.ts";

/** Beside the configuration, to be committed with it: the calls that an operator has accepted from servers. */
const FILE = "tools.lock.json";

const MAX_BYTES = 16 * 1024 * 1024;

export function lockFile(baseDir: string): string {
  return path.join(baseDir, FILE);
}

/** The accepted calls of a set; none if nothing was accepted yet. Throws an `Error` if the file cannot be used. */
export function readLockedCalls(baseDir: string, set: string): Offer {
  const sets = readSets(lockFile(baseDir));
  const entries = Object.hasOwn(sets, set) ? toObjects(sets[set]) : [];
  return {
    calls: entries.filter((entry) => !isLeftOut(entry)).map(toCall),
    leftOut: entries.filter(isLeftOut).map(toLeftOut),
  };
}

/** Replaces the accepted calls of a set. */
export function writeLockedCalls(baseDir: string, set: string, { calls, leftOut }: Offer): void {
  const file = lockFile(baseDir);
  const own = [...calls.map(toCall), ...leftOut.map(({ name, reason }) => ({ name, leftOut: reason }))].toSorted(
    (one, other) => (one.name < other.name ? -1 : 1),
  );
  const sets = Object.entries({ ...readSets(file), [set]: own }).toSorted(([one], [other]) => (one < other ? -1 : 1));
  replaceFile(file, `${JSON.stringify({ version: 1, sets: Object.fromEntries(sets) }, undefined, 2)}\n`);
}

function readSets(file: string): Record<string, unknown> {
  if (!existsSync(file)) return {};
  const content = parseJson(readRegularFile(file, MAX_BYTES).toString("utf8"));
  if (isObject(content) && content["version"] === 1 && isObject(content["sets"])) return content["sets"];
  throw new Error(
    `${file} is not what npx hookline tools accept writes: restore it, or delete it and accept the calls again`,
  );
}

function toCall({ name, description, input }: Partial<Record<keyof CallDescription, unknown>>): CallDescription {
  return { name: toText(name), description: toText(description), input: toObject(input) };
}

function isLeftOut(entry: object): boolean {
  return "leftOut" in entry;
}

function toLeftOut({ name, leftOut }: Record<string, unknown>): LeftOutCall {
  return { name: toText(name), reason: toText(leftOut) };
}

/** The same for two calls that a model sees alike. */
export function hashCall({ name, description, input }: CallDescription): string {
  return hashJson([name, description, input]);
}
