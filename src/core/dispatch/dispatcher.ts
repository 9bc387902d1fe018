import { messageOf } from "../errors.ts";
import type { ClaimedDelivery, ClaimedRun, NewWork } from "../journal/journal.ts";
import { ClaimLost } from "../actions/steps.ts";
import { createAlarm, HOUR_MS, NODE_LEASE_MS, settlesWithin } from "../shared/time.ts";
import type { DispatchContext, DispatcherOptions } from "./dispatch-context.ts";
import { createHoldGuard } from "./hold.ts";
import { createWorkMarks } from "./working.ts";
import { executeDelivery } from "./execute-delivery.ts";
import { createHeartbeat } from "./heartbeat.ts";
import { createPool } from "./work-pool.ts";
import { executeRun } from "./execute-run.ts";
import { createRetryingJournal } from "./retry.ts";
import { createSpans } from "../telemetry/traces.ts";

/** How many deliveries are sent at once; never two to one recipient. */
const MAX_SENDS = 16;

/** When to claim again if something was due but not claimed. */
const RECHECK_MS = 1000;

/** Many claims follow one another; the next time at which something is due is found out once for those of this time. */
const LOOK_AHEAD_MS = 20;

/** How often to check for due work at least. */
const MAX_SLEEP_MS = 60_000;

/** The number of ends of a process within an hour that raises the alert. A run that ends it is found after three. */
const MIN_RESTARTS = 5;

/** Others take over its work within a lease and this. */
const RENEW_EVERY_MS = NODE_LEASE_MS / 4;
/** When the database is back, a node takes work over from others that have not renewed before its second renewal. */
const RETRY_RENEWAL_MS = RENEW_EVERY_MS / 4;

export interface Dispatcher {
  /**
   * Executes what the journal holds, including what the last stop interrupted, and everything that is added to it. Without
   * `executes` it only keeps the lease of this node.
   */
  start(options?: { executes?: boolean }): void;
  /** A reload may have changed the limits: claims what may run now. */
  recheck(): void;
  /** Runs a heartbeat at once. */
  beat(): void;
  status(): { runningRuns: number; runningDeliveries: number; runningHeartbeat: boolean };
  /**
   * Claims nothing more and waits for what is in progress. Aborts what has not ended after `timeoutMs`; it is executed
   * again after the next start. Never rejects.
   */
  close(timeoutMs: number): Promise<void>;
}

/**
 * Executes runs, deliveries and heartbeats from the journal, independently of each other. A pool wakes for: the start, news
 * of the journal (`onWork`), a time at which something is due (`dueAlarm`), a reload (`recheck`), and its own items as they
 * end. `work-pool.ts` says what follows in each of its modes, `journal/README.md` which states a run and a delivery have.
 */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const shutdown = new AbortController();
  const { signal } = shutdown;
  const { log } = options.telemetry;
  const journal = createRetryingJournal(options.journal, { log, signal });
  const hold = createHoldGuard(options.journal, options.current, () => claimed.keys());
  const spans = createSpans(journal);
  const marks = createWorkMarks({ current: options.current, journal, log });
  const context: DispatchContext = { ...options, journal, hold, marks, spans, signal };
  const dueAlarm = createAlarm(claimWork);
  const lookAhead = createAlarm(() => void setDueAlarm().catch(report));
  /** The runs in progress, each with what aborts it. */
  const claimed = new Map<ClaimedRun, AbortController>();
  /** Set while it executes. */
  let unwatch: (() => void) | undefined;
  let renewal: NodeJS.Timeout | undefined;
  /** A time of `performance.now()`. */
  let renewAt = 0;
  /** A past time at which something was due that was not claimed then. */
  let overdueAt: number | undefined;
  /** While a suspect is executed, or waits until nothing else is: the pools claim nothing. */
  let alone: Promise<void> | undefined;
  /** No suspect is claimed before. */
  let suspectAfter = 0;
  let isFirstRenewal = true;

  const runs = createPool<ClaimedRun>({
    size: () => (alone ? 0 : context.current().config.agents.maxConcurrent),
    claim: (limit) => journal.claimRuns(limit, Date.now(), context.current().limits),
    execute: (run, freeSlot) => spans.ofRun(run, () => executeWatched(run, freeSlot)),
    onDrained: () => lookAhead.set(Date.now() + LOOK_AHEAD_MS),
    log,
  });
  const deliveries = createPool<ClaimedDelivery>({
    size: () => (alone ? 0 : MAX_SENDS),
    claim: (limit) => journal.claimDeliveries(limit, Date.now()),
    execute: (delivery) => spans.ofDelivery(delivery, () => executeDelivery(delivery, context)),
    onDrained: () => lookAhead.set(Date.now() + LOOK_AHEAD_MS),
    log,
  });
  const heartbeat = createHeartbeat(context);

  return {
    start({ executes = true } = {}) {
      renewal = setInterval(() => void renewLease(), RETRY_RENEWAL_MS).unref();
      void renewLease();
      if (!executes) return;
      unwatch = options.journal.watch(onWork);
      claimWork();
      heartbeat.requestIfUrgent().catch(report);
    },
    recheck() {
      if (unwatch) claimWork();
    },
    beat: heartbeat.beat,
    status: () => ({
      runningRuns: runs.active(),
      runningDeliveries: deliveries.active(),
      runningHeartbeat: heartbeat.isRunning(),
    }),
    async close(timeoutMs) {
      unwatch?.();
      unwatch = undefined;
      for (const part of [dueAlarm, lookAhead, runs, deliveries, heartbeat]) part.stop();
      const idle = Promise.all([whenIdle().then(() => alone), heartbeat.idle().then(releaseHeartbeats)]);
      await settlesWithin(idle, timeoutMs);
      const count = runs.active() + deliveries.active();
      if (count > 0) log.warn("shutdown timeout: aborted work in flight", { count });
      shutdown.abort(new Error("the service is shutting down"));
      for (const controller of claimed.values()) controller.abort(signal.reason);
      await idle;
      clearInterval(renewal);
      marks.removeAll();
    },
  };

  /** Now, not with the last run: another node can go on with them. */
  async function releaseHeartbeats(): Promise<void> {
    const lease = heartbeat.lease();
    if (lease) await options.journal.releaseLease(lease).catch(report);
  }

  function onWork(work: ReadonlySet<NewWork>): void {
    if (work.has("run")) runs.notify();
    if (work.has("delivery")) deliveries.notify();
    if (work.has("heartbeat")) heartbeat.request();
    if (work.has("lease")) heartbeat.retry();
    if (work.has("cancel")) void abortLost().catch(report);
  }

  async function executeWatched(run: ClaimedRun, freeSlot: () => void): Promise<boolean> {
    const controller = new AbortController();
    if (signal.aborted) controller.abort(signal.reason);
    claimed.set(run, controller);
    try {
      return await executeRun(run, { ...context, signal: controller.signal }, freeSlot);
    } finally {
      claimed.delete(run);
    }
  }

  /** A run that was canceled, or is another node's by now, ends here without a result. */
  async function abortLost(): Promise<void> {
    const lost = new Set(await options.journal.findLost([...claimed.keys()]));
    for (const [run, controller] of claimed) if (lost.has(run)) controller.abort(new ClaimLost());
  }

  function claimWork(): void {
    runs.notify();
    deliveries.notify();
  }

  async function whenIdle(): Promise<void> {
    await Promise.all([runs.idle(), deliveries.idle(), heartbeat.idle()]);
  }

  /** Executes a suspect when nothing else is in progress on this node, and nothing meanwhile. */
  async function executeAlone(): Promise<void> {
    heartbeat.pause();
    try {
      await whenIdle();
      const suspect = unwatch && (await journal.claimSuspect(Date.now(), context.current().limits));
      if (suspect?.kind === "run") runs.execute(suspect.work);
      else if (suspect?.kind === "delivery") deliveries.execute(suspect.work);
      else suspectAfter = Date.now() + RECHECK_MS;
      await whenIdle();
    } finally {
      alone = undefined;
      heartbeat.resume();
      claimWork();
    }
  }

  /** Everything that was due is claimed: the next claim is when something else becomes due, which may be by now. */
  async function setDueAlarm(): Promise<void> {
    const { limits } = context.current();
    const otherAt = (await journal.nextDueAt(limits)) ?? Infinity;
    const suspectAt = Math.max((await journal.nextSuspectAt(limits)) ?? Infinity, suspectAfter);
    const now = Date.now();
    // After all others.
    if (otherAt > now && suspectAt <= now) {
      alone ??= executeAlone().catch(report);
      return;
    }
    const dueAt = Math.min(otherAt, suspectAt);
    if (dueAt > now) dueAlarm.set(Math.min(dueAt, now + MAX_SLEEP_MS));
    else dueAlarm.set(dueAt === overdueAt ? now + RECHECK_MS : now);
    overdueAt = dueAt;
  }

  function report(error: unknown): void {
    if (!signal.aborted) log.error("dispatch: unexpected error", { error: String(error) });
  }

  async function checkRestarts(): Promise<void> {
    const times = await options.journal.countRestarts(Date.now() - HOUR_MS);
    if (times < MIN_RESTARTS) return;
    log.warn("the service has ended again and again without being stopped", { times });
    options.restarting?.(times);
  }

  async function renewLease(): Promise<void> {
    if (performance.now() < renewAt) return;
    renewAt = performance.now() + RENEW_EVERY_MS;
    try {
      const recovered = await options.journal.renewNode(NODE_LEASE_MS, options.describeNode);
      const hasRecovered = recovered.runs + recovered.deliveries > 0;
      if (hasRecovered) log.info("recovered interrupted work", recovered);
      if (hasRecovered || isFirstRenewal) await checkRestarts();
      isFirstRenewal = false;
      if ((await hold.recheck()) && unwatch) await heartbeat.requestIfUrgent();
      await options.journal.expireApprovals(Date.now());
      // The news of a cancellation may have been lost.
      if (claimed.size > 0) await abortLost();
    } catch (error) {
      if (signal.aborted) return;
      renewAt = 0;
      log.warn("lease not renewed, will try again", { error: messageOf(error) });
    }
  }
}
