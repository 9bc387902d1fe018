import { isObject, type Segment, toKeyPath, withoutUndefined } from "../../core/shared/json.ts";
import { isReference, planSecret } from "../../service/authoring/plan.ts";

export type Fields = Record<string, unknown>;

/** A configuration made from OpenClaw's. */
export interface Imported {
  /** By block: `hooks`, `agents`, `channels`. */
  config: Record<string, Fields>;
  /** Places that somebody has to decide about, by key of `config`. */
  decisions: [key: string, sentence: string][];
  /** Differences from OpenClaw, in sentences. */
  changes: string[];
  /** Literal secrets of the original, by the absolute path of their new files. */
  secretFiles: Map<string, string>;
}

/** OpenClaw's configuration, and what has been found about it so far. */
export interface Conversion extends Pick<Imported, "decisions" | "secretFiles"> {
  root: Fields;
  hooks: Fields;
  /** The new configuration, whose state folder gets the files of secrets. */
  target: { file: string; stateDir: string };
  changes: Set<string>;
}

/** The name of the provider that asks OpenClaw's own agents. */
export const PROVIDER = "openclaw";

/** Adds a place that somebody has to decide about. */
export function decide({ decisions }: Conversion, at: Segment[], sentence: string): void {
  decisions.push([toKeyPath(at), sentence]);
}

/** A reference to the secret. A literal one gets a file. */
export function toSecret({ target, secretFiles }: Conversion, value: unknown, name: string): string | undefined {
  if (isObject(value) && value["source"] === "env" && VARIABLE.test(String(value["id"]))) {
    return `\${${String(value["id"])}}`;
  }
  if (isReference(value)) return value;
  if (typeof value !== "string" || value.trim() === "") return undefined;
  return planSecret(target, { name, secret: value }, secretFiles);
}

const VARIABLE = /^[A-Za-z_]\w*$/;

export function pick(fields: Fields, keys: string[]): Fields {
  return withoutUndefined(Object.fromEntries(keys.map((key) => [key, fields[key]])));
}
