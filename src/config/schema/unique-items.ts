import { isObject } from "../../shared/json.ts";

/**
 * The keyword `uniqueItems` in linear time: ajv compares each item with each other, which takes many seconds for the
 * largest payloads.
 */
export function hasUniqueItems(items: readonly unknown[]): boolean {
  return items.length < 2 || new Set(items.map(toIdentity)).size === items.length;
}

/** The same text for equal values and for no others. Unlike in JSON, `1e400` is not null. */
function toIdentity(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toIdentity).join(",")}]`;
  if (isObject(value)) return `{${Object.keys(value).toSorted().map(toField(value)).join(",")}}`;
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

function toField(object: Record<string, unknown>) {
  return (name: string): string => `${JSON.stringify(name)}:${toIdentity(object[name])}`;
}
