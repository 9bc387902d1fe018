import { HookError } from "../errors.ts";
import type { NewState, Resolution } from "../types.ts";
import type { AcceptResult } from "./records/event.ts";

/** How many keys a state can have. */
export const MAX_STATE_KEYS = 10_000;

type StateRefusal = Extract<AcceptResult, { kind: "state-changed" | "state-full" }>;

/** The state of an event in the store. */
export interface KnownState {
  /** undefined: the key has no value. */
  versionOf(key: string): string | undefined;
  /** How many keys have a value. Asked only if one is added. */
  count(): number;
}

/** Why an event with this state cannot be committed. */
export function findStateRefusal({ reads, sets }: NewState, known: KnownState): StateRefusal | undefined {
  if (reads.some(({ key, version }) => known.versionOf(key) !== version)) return { kind: "state-changed" };
  const added = sets.filter(({ key, json }) => json !== undefined && known.versionOf(key) === undefined);
  return added.length > 0 && known.count() + added.length > MAX_STATE_KEYS ? { kind: "state-full" } : undefined;
}

export function isStateRefusal(result: AcceptResult): result is StateRefusal {
  return result.kind === "state-changed" || result.kind === "state-full";
}

/** The answer to its sender. */
export function toStateError({ kind }: StateRefusal, { mapping, log, state }: Partial<Resolution> = {}): HookError {
  if (kind === "state-changed") {
    const message = "Other requests changed the state that this one has read. Send it again.";
    return new HookError("overloaded", { message, headers: { "Retry-After": "1" }, detail: { mapping, log } });
  }
  const message = `The state "${state?.name}" has ${MAX_STATE_KEYS} keys. Set keys with a ttl, or remove some.`;
  return new HookError("transform_failed", { detail: { mapping, log, message } });
}
