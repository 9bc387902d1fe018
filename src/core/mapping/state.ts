import type { StateRow } from "../journal/journal.ts";
import type { Lines } from "../shared/lines.ts";
import type { StateSet } from "../transforms/runner.ts";
import type { NewState } from "../types.ts";

/** A state as one request sees it: what is stored, and what its own items have set. */
export interface RequestState {
  /** The value as JSON, or null. Rejects with `StartAgain` if the request must be mapped again first. */
  read(key: string): Promise<string | null>;
  set(sets: readonly StateSet[]): void;
  /** Keys to commit with the event. */
  result(): NewState;
}

/** Thrown if a request has to let others pass: waiting for this key, it could wait for one that waits for it. */
export class StartAgain extends Error {
  override name = "StartAgain";
}

/** A state that can be read again, with the lines of its keys. */
export interface HeldState extends RequestState {
  /** Forgets what was set, waits for all keys that were asked for, in one order, and reads them as they are then. */
  startAgain(): Promise<void>;
  /** Leaves all lines. */
  release(): void;
}

export interface StateOptions {
  /** Mappings with one name share keys and lines. */
  name: string;
  readState(name: string, keys: string[]): Promise<StateRow[]>;
  /** Absent: nothing is committed, so nobody has to wait. */
  lines?: Lines;
}

/** Reads nothing until a key is asked for. */
export function createState({ name, readState, lines }: StateOptions): HeldState {
  const stored = new Map<string, StateRow | undefined>();
  const sets = new Map<string, StateSet>();
  const asked = new Set<string>();
  const held = new Map<string, () => void>();
  const lineOf = (key: string): string => JSON.stringify([name, key]);

  async function load(keys: string[]): Promise<void> {
    const rows = new Map((await readState(name, keys)).map((row) => [row.key, row]));
    for (const key of keys) stored.set(key, rows.get(key));
  }

  /** Who holds keys waits only for a higher one, so that no two wait for each other. */
  async function hold(key: string): Promise<void> {
    if (!lines) return;
    const isHighest = [...held.keys()].every((other) => other < key);
    const leave = lines.tryEnter(lineOf(key)) ?? (isHighest ? await lines.enter(lineOf(key)) : undefined);
    if (!leave) throw new StartAgain();
    held.set(key, leave);
  }

  function release(): void {
    for (const leave of held.values()) leave();
    held.clear();
  }

  return {
    async read(key) {
      if (!stored.has(key)) {
        asked.add(key);
        await hold(key);
        await load([key]);
      }
      const set = sets.get(key);
      return (set ? set.json : stored.get(key)?.json) ?? null;
    },
    set(added) {
      for (const set of added) sets.set(set.key, set);
    },
    result: () => ({
      name,
      reads: Array.from(stored, ([key, row]) => ({ key, version: row?.version })),
      sets: [...sets.values()],
    }),
    async startAgain() {
      release();
      stored.clear();
      sets.clear();
      const keys = [...asked].toSorted((a, b) => (a < b ? -1 : 1));
      for (const key of keys) await hold(key);
      await load(keys);
    },
    release,
  };
}

/** For requests that are only tried, without a journal. */
export function openEmptyState(name: string): RequestState {
  return createState({ name, readState: async () => [] });
}
