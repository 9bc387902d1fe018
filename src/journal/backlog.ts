import { HookError } from "../errors.ts";
import type { Journal } from "./port.ts";

/** How long a count is added to before the journal is asked again, in milliseconds. */
const FRESH_MS = 500;

export interface BacklogGuard {
  /** Throws a 503 `HookError` while too many runs wait. */
  requireRoom(): void;
  /** So many runs were accepted. */
  add(runs: number): void;
}

/** Refuses requests while `maxPending()` runs or more are unfinished, so that a backlog cannot grow without end. */
export function createBacklogGuard(journal: Journal, maxPending: () => number): BacklogGuard {
  let pending = 0;
  let countedAt = 0;

  return {
    requireRoom() {
      if (Date.now() - countedAt > FRESH_MS) count();
      if (pending < maxPending()) return;
      throw new HookError(503, "overloaded", "Too many hooks are waiting to be carried out.", {
        headers: { "Retry-After": "5" },
      });
    },
    add(runs) {
      pending += runs;
    },
  };

  function count(): void {
    countedAt = Date.now();
    journal.stats().then(
      (stats) => (pending = stats.pendingRuns),
      () => undefined,
    );
  }
}
