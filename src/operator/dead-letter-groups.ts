import type { DeadLetter } from "../core/journal/journal.ts";

/** Failures that have their hook, their kind and the words of their error in common. */
export interface DeadLetterGroup extends Pick<DeadLetter, "kind" | "hook" | "group"> {
  /** The error of the newest. */
  error: string;
  count: number;
  /** Times of the first and the last failure. */
  firstAt: number;
  lastAt: number;
}

/** How many dead letters are grouped. */
export const MAX_LETTERS = 10_000;

/** The largest group first. */
export function groupDeadLetters(letters: DeadLetter[]): DeadLetterGroup[] {
  const groups = new Map<string, DeadLetterGroup>();
  for (const { kind, hook, group, error, at } of letters) {
    const key = JSON.stringify([kind, hook, group]);
    const known = groups.get(key);
    if (!known) groups.set(key, { kind, hook, group, error, count: 1, firstAt: at, lastAt: at });
    else {
      known.count++;
      known.firstAt = Math.min(known.firstAt, at);
      known.lastAt = Math.max(known.lastAt, at);
    }
  }
  return [...groups.values()].toSorted((one, other) => other.count - one.count || other.lastAt - one.lastAt);
}
