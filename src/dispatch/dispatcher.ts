import { setImmediate as nextTurn } from "node:timers/promises";
import { messageOf } from "../errors.ts";
import type { Claim, ClaimedDelivery, ClaimedRun, NewWork, RunAnswerer } from "../journal/journal.ts";
import { createAlarm, settlesWithin } from "../shared/time.ts";
import type { Log } from "../telemetry/log.ts";
import type { DispatchContext, DispatcherOptions } from "./context.ts";
import { createHoldGuard } from "./hold.ts";
import { executeDelivery } from "./delivery.ts";
import { createHeartbeat } from "./heartbeat.ts";
import { answerRun, executeRun, showDone } from "./run.ts";
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

/** A node that has not renewed its lease for this long is considered dead. */
const NODE_LEASE_MS = 15_000;
/** Others take over its work within a lease and this. */
const RENEW_EVERY_MS = NODE_LEASE_MS / 4;

export interface Dispatcher {
  /**
   * Executes what the journal holds, including what the last stop interrupted, and everything that is added to it. Without
   * `executes` it only keeps the lease of this node.
   */
  start(options?: { executes?: boolean }): void;
  /** A reload may have changed the limits: claims what may run now. */
  recheck(): void;
  status(): { runningRuns: number; runningDeliveries: number; runningHeartbeat: boolean };
  /**
   * Claims nothing more and waits for what is in progress. Aborts what has not ended after `timeoutMs`; it is executed
   * again after the next start. Never rejects.
   */
  close(timeoutMs: number): Promise<void>;
}

/** Executes runs, deliveries and heartbeats from the journal, independently of each other. */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const shutdown = new AbortController();
  const { signal } = shutdown;
  const { log } = options.telemetry;
  const journal = createRetryingJournal(options.journal, { log, signal });
  const hold = createHoldGuard(options.journal, options.current);
  const spans = createSpans(journal);
  const context: DispatchContext = { ...options, journal, hold, spans, log, signal };
  const dueAlarm = createAlarm(claimWork);
  const lookAhead = createAlarm(() => void setDueAlarm().catch(report));
  let listeners: (() => void)[] = [];
  let renewal: NodeJS.Timeout | undefined;
  /** A past time at which something was due that was not claimed then. */
  let overdueAt: number | undefined;

  const runs = createPool<ClaimedRun>({
    size: () => context.current().config.agents.maxConcurrent,
    claim: (limit) => journal.claimRuns(limit, Date.now(), context.current().limits),
    execute: (run, freeSlot) => spans.ofRun(run, () => executeRun(run, context, freeSlot)),
    onDrained: () => lookAhead.set(Date.now() + LOOK_AHEAD_MS),
    log,
  });
  const deliveries = createPool<ClaimedDelivery>({
    size: () => MAX_SENDS,
    claim: (limit) => journal.claimDeliveries(limit, Date.now()),
    execute: (delivery) => spans.ofDelivery(delivery, () => executeDelivery(delivery, context)),
    onDrained: () => lookAhead.set(Date.now() + LOOK_AHEAD_MS),
    log,
  });
  const heartbeat = createHeartbeat(context);
  const answerer: RunAnswerer = {
    answer: (run, mapping) => (context.current().limits.has(mapping) ? undefined : answerRun(run, context)),
    answered: (run) => showDone(run, context),
  };

  return {
    start({ executes = true } = {}) {
      renewal = setInterval(() => void renewLease(), RENEW_EVERY_MS).unref();
      void renewLease();
      if (!executes) return;
      const { answerRuns, joinCommits, watch } = options.journal;
      listeners = [answerRuns(answerer), joinCommits(joinCommit), watch(onWork)];
      claimWork();
      heartbeat.start();
    },
    recheck() {
      const isExecuting = listeners.length > 0;
      if (isExecuting) claimWork();
    },
    status: () => ({
      runningRuns: runs.active(),
      runningDeliveries: deliveries.active(),
      runningHeartbeat: heartbeat.isRunning(),
    }),
    async close(timeoutMs) {
      for (const unwatch of listeners) unwatch();
      for (const part of [dueAlarm, lookAhead, runs, deliveries, heartbeat]) part.stop();
      const idle = Promise.all([runs.idle(), deliveries.idle(), heartbeat.idle().then(releaseHeartbeats)]);
      await settlesWithin(idle, timeoutMs);
      const count = runs.active() + deliveries.active();
      if (count > 0) log.warn("shutdown timeout: aborted work in flight", { count });
      shutdown.abort(new Error("the service is shutting down"));
      await idle;
      clearInterval(renewal);
    },
  };

  /** Now, not with the last run: another node can go on with them. */
  async function releaseHeartbeats(): Promise<void> {
    const lease = heartbeat.lease();
    if (lease) await options.journal.releaseLease(lease).catch(report);
  }

  /** Work starts with the commit that makes it due, where a slot is free. */
  function joinCommit(work: ReadonlySet<NewWork>): void {
    if (work.has("run")) runs.notifyNow();
    if (work.has("delivery")) deliveries.notifyNow();
  }

  function onWork(work: ReadonlySet<NewWork>): void {
    if (work.has("run")) runs.notify();
    if (work.has("delivery")) deliveries.notify();
    if (work.has("heartbeat")) heartbeat.request();
    if (work.has("lease")) heartbeat.retry();
  }

  function claimWork(): void {
    runs.notify();
    deliveries.notify();
  }

  /** Everything that was due is claimed: the next claim is when something else becomes due, which may be by now. */
  async function setDueAlarm(): Promise<void> {
    const dueAt = (await journal.nextDueAt(context.current().limits)) ?? Infinity;
    const now = Date.now();
    if (dueAt > now) dueAlarm.set(Math.min(dueAt, now + MAX_SLEEP_MS));
    else dueAlarm.set(dueAt === overdueAt ? now + RECHECK_MS : now);
    overdueAt = dueAt;
  }

  function report(error: unknown): void {
    if (!signal.aborted) log.error("dispatch: unexpected error", { error: String(error) });
  }

  async function renewLease(): Promise<void> {
    try {
      const recovered = await options.journal.renewNode(NODE_LEASE_MS, options.describeNode?.());
      if (recovered.runs + recovered.deliveries > 0) log.info("recovered interrupted work", recovered);
      await hold.recheck();
    } catch (error) {
      log.warn("lease not renewed, will try again", { error: messageOf(error) });
    }
  }
}

interface PoolOptions<Item extends Claim> {
  /** How many items may be in progress at once. Read at each claim. */
  size(): number;
  /** Claims up to `limit` items that are due. */
  claim(limit: number): Promise<Item[]>;
  /**
   * Handles failures itself: a rejection is unexpected and only logged. False if the claim was lost. May call `freeSlot`
   * once its result is on its way to the journal: one commit then records it and claims the next item.
   */
  execute(item: Item, freeSlot: () => void): Promise<boolean>;
  /** Called when everything that was due is claimed. */
  onDrained(): void;
  log: Log;
}

/** Keeps up to `size()` items in progress, and claims more as they end. */
function createPool<Item extends Claim>(options: PoolOptions<Item>) {
  const active = new Set<Promise<void>>();
  let freed = 0;
  let filling: Promise<void> | undefined;
  let notified = false;
  let stopped = false;

  return {
    notify,
    notifyNow,
    active: () => active.size,
    /** Claims nothing more. */
    stop: () => void (stopped = true),
    /** Resolves when nothing is in progress. */
    async idle() {
      await filling;
      await Promise.all(active);
    },
  };

  /** Something may be due. */
  function notify(): void {
    notified = true;
    // The next turn of the event loop: one claim then replaces all items that ended with the same commit.
    if (!stopped) filling ??= nextTurn().then(fill).catch(report);
  }

  /** The same, for a claim at once. */
  function notifyNow(): void {
    notified = true;
    if (mayClaim()) filling ??= fill().catch(report);
  }

  async function fill(): Promise<void> {
    try {
      while (mayClaim()) {
        notified = false;
        const limit = freeSlots();
        const items = await options.claim(limit);
        items.forEach(start);
        if (items.length < limit) options.onDrained();
      }
    } finally {
      filling = undefined;
    }
  }

  function start(item: Item): void {
    let isFreed = false;
    const freeSlot = (): void => {
      if (isFreed) return;
      isFreed = true;
      freed += 1;
      notify();
    };
    const task = execute(item, freeSlot)
      .catch(report)
      .finally(() => {
        active.delete(task);
        if (isFreed) freed -= 1;
        else notify();
      });
    active.add(task);
  }

  async function execute(item: Item, freeSlot: () => void): Promise<void> {
    const isRecorded = await options.execute(item, freeSlot);
    if (!isRecorded) options.log.info("result dropped: the claim was lost", { id: item.id });
  }

  function mayClaim(): boolean {
    return notified && !stopped && freeSlots() > 0;
  }

  function freeSlots(): number {
    return options.size() - active.size + freed;
  }

  function report(error: unknown): void {
    if (!stopped) options.log.error("dispatch: unexpected error", { error: String(error) });
  }
}
