import { hash } from "node:crypto";
import { isObject } from "./json.ts";

/** SHA-256 of a JSON value, whatever the order of its fields. */
export function hashJson(value: unknown): string {
  return hash("sha256", toStableJson(value));
}

function toStableJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    isObject(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  );
}
