import type { NewState } from "../types.ts";
import type { AcceptResult } from "./records/event.ts";

/** How many keys a state can have. */
export const MAX_STATE_KEYS = 10_000;

/** The state of an event in the store. */
export interface KnownState {
  /** undefined: the key has no value. */
  versionOf(key: string): string | undefined;
  /** How many keys have a value. Asked only if one is added. */
  count(): number;
}

/** Why an event with this state cannot be committed. */
export function findStateRefusal(
  { reads, sets }: NewState,
  known: KnownState,
): Extract<AcceptResult, { kind: "state-changed" | "state-full" }> | undefined {
  if (reads.some(({ key, version }) => known.versionOf(key) !== version)) return { kind: "state-changed" };
  const added = sets.filter(({ key, json }) => json !== undefined && known.versionOf(key) === undefined);
  return added.length > 0 && known.count() + added.length > MAX_STATE_KEYS ? { kind: "state-full" } : undefined;
}
