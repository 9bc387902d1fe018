import type { FuncKeywordDefinition } from "ajv";
import { isObject } from "./is-object.ts";

/**
 * The keyword `uniqueItems`, in a time in proportion to the items' size: the validator's own compares each with each
 * other, which takes many seconds for what one request can hold.
 */
export const UNIQUE_ITEMS: FuncKeywordDefinition = {
  keyword: "uniqueItems",
  type: "array",
  schemaType: "boolean",
  validate: (isAsked: boolean, items: unknown[]) => !isAsked || hasUniqueItems(items),
  error: { message: "must NOT have duplicate items" },
};

function hasUniqueItems(items: readonly unknown[]): boolean {
  return items.length < 2 || new Set(items.map(toIdentity)).size === items.length;
}

/** The same text for equal values, and for no others: `1e400`, which no JSON can hold again, is not null. */
function toIdentity(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toIdentity).join(",")}]`;
  if (isObject(value)) return `{${Object.keys(value).toSorted().map(toField(value)).join(",")}}`;
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

function toField(object: Record<string, unknown>) {
  return (name: string): string => `${JSON.stringify(name)}:${toIdentity(object[name])}`;
}
