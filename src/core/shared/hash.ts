import { hash } from "node:crypto";
import { isObject } from "./json.ts";

/** SHA-256 of a JSON value, whatever the order of its fields. */
export function hashJson(value: unknown): string {
  return hash("sha256", toStableJson(value));
}

/** A name of at most `max` characters. One that is cut ends with a digest of what it names. */
export function cutName(name: string, max: number, whole = name): string {
  if (name.length <= max) return name;
  const digest = hash("sha256", whole).slice(0, 8);
  return `${name.slice(0, max - digest.length - 1)}_${digest}`;
}

function toStableJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    isObject(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  );
}
