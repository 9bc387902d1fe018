import { DAY_MS, HOUR_MS } from "../core/shared/time.ts";
import { setTimeout as delay } from "node:timers/promises";
import { DriverError, messageOf } from "../core/errors.ts";
import type { MissedEvent, MissedEvents } from "../core/ports/missed.ts";

/** A catch-up that is under way: a row of the journal, so that whatever ends the process, another continues it. */
export interface CatchUp {
  preset: string;
  hook: string;
  /** From when on, in milliseconds since the epoch. */
  since: number;
  /** When the gap was found. */
  foundAt: number;
  /** The order of the last event that was dealt with. */
  cursor?: string;
  /** How many were. */
  done: number;
  /** How many of them failed. */
  failed: number;
  /** Events that the sender does not have any more, and why, the first ones. */
  failures: { id: string; message: string }[];
}

export interface CatchUpResult {
  /** How many events arrive again. */
  repeated: number;
  failed: number;
  /** Why, of the first ones. */
  failures: CatchUp["failures"];
  /** Events beyond the limit. */
  left: number;
  notes: string[];
}

/** How many events one catch-up gets. */
const MAX_EVENTS = 1000;
const MAX_FAILURES = 20;
const RETRY_MS = 5000;
const MAX_RETRY_MS = 10 * 60_000;
/** A sender's limits end sooner, whatever it says. */
const MAX_WAIT_MS = HOUR_MS;
/** Then it is given up. */
const MAX_MS = DAY_MS;

export interface CatchUpOptions {
  events: MissedEvents;
  save(catchUp: CatchUp): Promise<void>;
  signal: AbortSignal;
  now?(): number;
}

/** Gets the events again, oldest first. Resolves once nothing is left to do; rejects if it is stopped, or must be tried again later. */
export async function runCatchUp(
  catchUp: CatchUp,
  { events, save, signal, now = Date.now }: CatchUpOptions,
): Promise<CatchUpResult> {
  const { missed, notes } = await retry(() => events.find(catchUp.since));
  const todo = missed.filter(({ order }) => order > (catchUp.cursor ?? ""));
  const wanted = todo.slice(0, Math.max(0, MAX_EVENTS - catchUp.done));
  let current = catchUp;
  for (const [index, event] of wanted.entries()) {
    if (index > 0) await delay(events.paceMs, undefined, { signal });
    let failure: { id: string; message: string } | undefined;
    try {
      await retry(() => events.repeat(event));
    } catch (error) {
      // One event that is too old must not keep back the others.
      if (signal.aborted || !(error instanceof DriverError) || error.retryable) throw error;
      failure = { id: event.id, message: messageOf(error) };
    }
    const failures = failure ? [...current.failures, failure].slice(0, MAX_FAILURES) : current.failures;
    const failed = current.failed + (failure ? 1 : 0);
    current = { ...current, cursor: event.order, done: current.done + 1, failed, failures };
    await save(current);
  }
  const { done, failed, failures } = current;
  return { repeated: done - failed, failed, failures, left: todo.length - wanted.length, notes };

  async function retry<Result>(work: () => Promise<Result>): Promise<Result> {
    for (let waitMs = RETRY_MS; ; waitMs = Math.min(waitMs * 2, MAX_RETRY_MS)) {
      try {
        return await work();
      } catch (error) {
        if (signal.aborted || !(error instanceof DriverError) || !error.retryable) throw error;
        if (now() - catchUp.foundAt > MAX_MS) throw new DriverError(error.message, { retryable: false, cause: error });
        // A timer with a longer time than it can have ends at once.
        await delay(Math.min(Math.max(error.retryAfterMs ?? 0, waitMs), MAX_WAIT_MS), undefined, { signal });
      }
    }
  }
}

/** The missed events of several places of one sender, as if they were of one. */
export function joinMissed(places: readonly MissedEvents[]): MissedEvents {
  const owners = new Map<MissedEvent, MissedEvents>();
  return {
    paceMs: Math.max(...places.map(({ paceMs }) => paceMs)),
    async find(since) {
      const found = await Promise.all(places.map((place) => place.find(since)));
      owners.clear();
      for (const [index, { missed }] of found.entries()) {
        for (const event of missed) owners.set(event, places[index]!);
      }
      const missed = [...owners.keys()].toSorted((one, other) => (one.order < other.order ? -1 : 1));
      return { missed, notes: [...new Set(found.flatMap(({ notes }) => notes))] };
    },
    repeat: async (event) => owners.get(event)?.repeat(event),
  };
}
