import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { DEFAULTS } from "../../config/defaults.ts";
import { isObject } from "../../config/is-object.ts";
import { parseSource } from "../../config/parse.ts";
import { readConfigText } from "../../config/read-config.ts";

/** A configuration that is to be set up. */
export interface Target {
  /** Absolute. */
  file: string;
  /** undefined: there is none yet. */
  text: string | undefined;
  /** As it is written, with its references. */
  written: Record<string, unknown>;
  /** Folder for secrets of the service's own, absolute. */
  stateDir: string;
}

/** Reads a configuration as a person wrote it. Throws a `ConfigError` on bad syntax. */
export async function readTarget(file: string): Promise<Target> {
  const stateDir = path.resolve(path.dirname(file), DEFAULTS.store.path);
  if (!existsSync(file)) return { file, text: undefined, written: {}, stateDir };
  const text = readFileSync(file, "utf8");
  if (text.trim() === "") return { file, text, written: {}, stateDir };
  const { value } = parseSource(file, text);
  const { config } = await readConfigText(file, text, { env: process.env });
  return { file, text, written: isObject(value) ? value : {}, stateDir: config.store.path };
}

/** A part of what is written, by its keys; empty where there is no object. */
export function partOf(written: Record<string, unknown>, ...keys: string[]): Record<string, unknown> {
  return keys.reduce<Record<string, unknown>>((part, key) => {
    const child = part[key];
    return isObject(child) ? child : {};
  }, written);
}
