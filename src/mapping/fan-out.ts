import { HookError } from "../errors.ts";
import type { ForEach } from "./compiled-mapping.ts";
import { readPath, replaceAt } from "./path.ts";

/** What one action (or one call of a transform) is made from: the request, or one item of it. */
export interface Unit {
  payload: unknown;
  /** Set under `forEach`. */
  each?: { item: unknown; index: number };
}

/**
 * The request as a whole, or under `forEach` one unit an item; none where the list is missing or null. Throws a
 * `HookError`: 400 where it is no list, 413 where it is longer than `maxFanOut`.
 */
export function fanOut(payload: unknown, forEach: ForEach | undefined, maxFanOut: number): Unit[] {
  if (!forEach) return [{ payload }];
  const items = readPath(payload, forEach.path) ?? [];
  if (!Array.isArray(items)) throw new HookError(400, "invalid_payload", `${forEach.text} must be an array.`);
  requireFanOut(items.length, maxFanOut);
  return items.map((item: unknown, index) => ({
    payload: forEach.narrows ? replaceAt(payload, forEach.path, [item]) : payload,
    each: { item, index },
  }));
}

/** Throws a 413 `HookError` where a request would become too many actions. */
export function requireFanOut(actions: number, maxFanOut: number): void {
  if (actions <= maxFanOut) return;
  throw new HookError(413, "fan_out_too_large", `This request would become more than ${maxFanOut} actions.`);
}
