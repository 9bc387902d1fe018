import type { Journal } from "../journal/port.ts";
import type { Log } from "../telemetry/log.ts";
import { persist } from "./persist.ts";

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
