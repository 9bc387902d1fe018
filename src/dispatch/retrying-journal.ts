import { setTimeout as delay } from "node:timers/promises";
import { JournalUnavailable } from "../errors.ts";
import type { Journal } from "../journal/journal.ts";
import { backoffMs } from "../shared/backoff.ts";
import type { Log } from "../telemetry/log.ts";

/** The part of the journal that carrying out needs. */
export type DispatchJournal = Pick<
  Journal,
  | "claimRuns"
  | "completeRun"
  | "retryRun"
  | "buryRun"
  | "releaseRun"
  | "history"
  | "pendingSystemEvents"
  | "completeHeartbeat"
  | "failHeartbeat"
  | "claimDeliveries"
  | "progressDelivery"
  | "retryDelivery"
  | "finishDelivery"
  | "lastRoute"
  | "nextDueAt"
>;

/**
 * The journal as one that never is unavailable: each call waits until it can be had. Calls reject with the signal's
 * reason when that aborts while they wait.
 */
export function createInsistentJournal(
  journal: DispatchJournal,
  waiting: { log: Log; signal: AbortSignal },
): DispatchJournal {
  const insist = <Result>(call: () => Promise<Result>): Promise<Result> => persist(call, waiting);
  return {
    claimRuns: (limit, now, limits) => insist(() => journal.claimRuns(limit, now, limits)),
    completeRun: (id, outcome) => insist(() => journal.completeRun(id, outcome)),
    retryRun: (id, dueAt, error) => insist(() => journal.retryRun(id, dueAt, error)),
    buryRun: (id, failure) => insist(() => journal.buryRun(id, failure)),
    releaseRun: (id) => insist(() => journal.releaseRun(id)),
    history: (sessionKey, limit) => insist(() => journal.history(sessionKey, limit)),
    pendingSystemEvents: (limit) => insist(() => journal.pendingSystemEvents(limit)),
    completeHeartbeat: (run, outcome) => insist(() => journal.completeHeartbeat(run, outcome)),
    failHeartbeat: (run) => insist(() => journal.failHeartbeat(run)),
    claimDeliveries: (limit, now) => insist(() => journal.claimDeliveries(limit, now)),
    progressDelivery: (id, parts, route) => insist(() => journal.progressDelivery(id, parts, route)),
    retryDelivery: (id, dueAt, error) => insist(() => journal.retryDelivery(id, dueAt, error)),
    finishDelivery: (id, end) => insist(() => journal.finishDelivery(id, end)),
    lastRoute: (channel) => insist(() => journal.lastRoute(channel)),
    nextDueAt: (limits) => insist(() => journal.nextDueAt(limits)),
  };
}

const BACKOFF = { firstMs: 200, maxMs: 10_000 };

/**
 * Repeats what the journal could not do until it can: what has happened outside must not be lost for a full disk.
 * Rejects with any other error at once, and with the signal's reason when that aborts.
 */
export async function persist<Result>(
  write: () => Promise<Result>,
  { log, signal }: { log: Log; signal: AbortSignal },
): Promise<Result> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof JournalUnavailable)) throw error;
      signal.throwIfAborted();
      log.warn("journal unavailable, will try again", { failures, error: error.message });
      await delay(backoffMs(failures, BACKOFF), undefined, { signal });
    }
  }
}
