import { HookError } from "../errors.ts";
import type { Journal } from "./port.ts";

/** How long a count of the backlog stays good, in milliseconds: counting costs more than accepting. */
const FRESH_MS = 500;

/** Refuses requests while more runs wait than `maxPending()`, so that a backlog cannot grow without end. */
export function createBacklogGuard(journal: Journal, maxPending: () => number): { requireRoom(): void } {
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
  };

  function count(): void {
    countedAt = Date.now();
    journal.stats().then(
      (stats) => (pending = stats.pendingRuns),
      () => undefined,
    );
  }
}
