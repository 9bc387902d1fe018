import { isObject } from "./is-object.ts";
import type { Segment } from "./key-path.ts";

/**
 * A copy of a configuration without the part at a place; without the whole of it, an empty one. Taking an
 * element of an array takes the array, so that no other element changes its index.
 */
export function without(value: unknown, place: readonly Segment[]): unknown {
  const lastKey = place.findLastIndex((segment) => typeof segment === "string");
  return lastKey === -1 ? {} : remove(value, place.slice(0, lastKey + 1));
}

function remove(value: unknown, [first, ...rest]: readonly Segment[]): unknown {
  if (Array.isArray(value)) return value.map((item, index) => (index === first ? remove(item, rest) : item));
  if (!isObject(value)) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(
    rest.length === 0
      ? entries.filter(([key]) => key !== first)
      : entries.map(([key, child]) => [key, key === first ? remove(child, rest) : child]),
  );
}
