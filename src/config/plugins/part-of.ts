import { isObject } from "../is-object.ts";

/** The part of the configuration's schema at these keys, itself and not a copy. */
export function partOf(schema: Record<string, unknown>, ...keys: string[]): Record<string, unknown> {
  return keys.reduce((part, key) => {
    const next = part[key];
    if (!isObject(next)) throw new Error(`the configuration's schema has no ${keys.join(".")}`);
    return next;
  }, schema);
}
