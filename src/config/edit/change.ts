import { isDeepStrictEqual } from "node:util";
import { isObject } from "../is-object.ts";
import type { Segment } from "../key-path.ts";

/** What is to stand at a place; undefined: nothing. An index just behind the last one appends. */
export interface Change {
  path: readonly Segment[];
  value: unknown;
}

/** The fewest changes that turn one value into another. What lies in objects is changed key by key, a list as a whole. */
export function toChanges(before: unknown, after: unknown, path: readonly Segment[] = []): Change[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (!isObject(before) || !isObject(after)) return [{ path, value: after }];
  const keys = new Set([...Object.keys(after), ...Object.keys(before)]);
  return [...keys].flatMap((key) => toChanges(before[key], after[key], [...path, key]));
}

/** A copy of a value with a change carried out; what is missing on the way is made. */
export function applyChange(value: unknown, { path, value: wanted }: Change): unknown {
  const [first, ...rest] = path;
  if (first === undefined) return wanted;
  if (typeof first === "number")
    return applyAt(Array.isArray(value) ? value : [], first, { path: rest, value: wanted });

  const entries = Object.entries(isObject(value) ? value : {});
  const old = entries.find(([key]) => key === first)?.[1];
  const next = applyChange(old, { path: rest, value: wanted });
  const others = entries.filter(([key]) => key !== first);
  // Not by assignment: a key `__proto__` must stay a key.
  return Object.fromEntries(next === undefined ? others : [...others, [first, next]]);
}

/** What a change puts where nothing of its path is there yet. */
export function nest(path: readonly Segment[], value: unknown): unknown {
  return applyChange(undefined, { path, value });
}

function applyAt(items: unknown[], index: number, change: Change): unknown[] {
  const next = applyChange(items[index], change);
  return next === undefined ? items.toSpliced(index, 1) : items.toSpliced(index, 1, next);
}
