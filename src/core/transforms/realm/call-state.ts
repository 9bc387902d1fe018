import { parseDuration } from "../../shared/time.ts";
import { isStateKey, MAX_STATE_BYTES, MAX_STATE_KEY_LENGTH } from "../sandbox/child-answer.ts";
import type { StateSet, StateValue } from "../runner.ts";
import type { TransformState } from "../transform-types.ts";

export interface CallState {
  /** The `input.state` of the transform. */
  own: TransformState;
  /** The first key that was not given with the call. Without its value, what the call returns does not count. */
  unread(): string | undefined;
  /** Values that were set, in the order of the first set of each key. */
  sets(): StateSet[];
}

export function createCallState(given: readonly StateValue[]): CallState {
  const values = new Map<string, string | null>(given);
  const sets = new Map<string, StateSet>();
  let unread: string | undefined;

  function get(key: string): unknown {
    requireKey(key);
    const json = values.get(key);
    if (json === null) return undefined;
    if (json !== undefined) return JSON.parse(json);
    unread ??= key;
    throw new Error(`The call ends here, and runs again once the key ${JSON.stringify(key)} is read.`);
  }

  function set(key: string, value: unknown, options?: { ttl?: string | number }): void {
    requireKey(key);
    const json = toJson(key, value);
    values.set(key, json ?? null);
    sets.set(key, { key, json, ttlMs: toMilliseconds(options?.ttl) });
  }

  return { own: { get, set }, unread: () => unread, sets: () => [...sets.values()] };
}

function requireKey(key: unknown): void {
  if (isStateKey(key)) return;
  throw new TypeError(`A key of the state must be a text of 1 to ${MAX_STATE_KEY_LENGTH} characters without NUL.`);
}

/** undefined removes the key. */
function toJson(key: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  const json = JSON.stringify(value) as string | undefined;
  if (json === undefined) throw new TypeError(`The state cannot keep a ${typeof value}. Set a value that JSON has.`);
  const { length } = new TextEncoder().encode(json);
  if (length <= MAX_STATE_BYTES) return json;
  throw new RangeError(
    `The value of ${JSON.stringify(key)} is too large: its JSON has ${length} bytes, the limit is ${MAX_STATE_BYTES}.`,
  );
}

function toMilliseconds(ttl: string | number | undefined): number | undefined {
  if (ttl === undefined) return undefined;
  const ms = typeof ttl === "number" ? ttl * 1000 : parseDuration(ttl);
  if (Number.isSafeInteger(Math.ceil(ms)) && ms > 0) return Math.ceil(ms);
  throw new RangeError("ttl must be a duration, such as 10m or 24h, or a number of seconds above 0.");
}
