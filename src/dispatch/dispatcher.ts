import type { Delivery, Run } from "../journal/journal.ts";
import { createAlarm, settlesWithin } from "../shared/async.ts";
import { createContext, type DispatcherOptions } from "./context.ts";
import { carryOutDelivery } from "./delivery.ts";
import { createHeartbeat } from "./heartbeat.ts";
import { carryOutRun } from "./run.ts";
import { createPool } from "./worker-pool.ts";

/** Sends side by side; one recipient never has two. */
const MAX_SENDS = 16;

/** When to look again at something that is due and that no free place could take. */
const LOOK_AGAIN_MS = 1000;

/** How often what waits is looked at again: a reload may have changed the limits. */
const MAX_SLEEP_MS = 60_000;

export interface Dispatcher {
  /** Carries out what the journal holds, and what was left unfinished when the service last stopped. */
  start(): void;
  /** A run was committed. */
  notify(): void;
  /** Runs or deliveries that had ended are to be tried again. */
  lookForWork(): void;
  /** A system event asks for a heartbeat at once. */
  requestHeartbeat(): void;
  status(): { runningRuns: number; runningDeliveries: number; runningHeartbeat: boolean };
  /**
   * Takes nothing new and waits for what is under way. What has not ended after `timeoutMs` is cut off; it is carried
   * out again after the next start. Never rejects.
   */
  close(timeoutMs: number): Promise<void>;
}

/** Carries out what the journal has accepted: runs, deliveries and heartbeats, each side by side with the others. */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const stop = new AbortController();
  const context = createContext(options, stop.signal);
  const { journal, log } = context;
  const alarm = createAlarm(lookForWork);

  const deliveries = createPool<Delivery>({
    size: () => MAX_SENDS,
    claim: (limit) => journal.claimDeliveries(limit, Date.now()),
    perform: (delivery) => carryOutDelivery(delivery, context),
    drained: setAlarm,
    log,
  });
  const heartbeat = createHeartbeat(context, ({ delivers }) => {
    if (delivers) deliveries.notify();
  });
  const runs = createPool<Run>({
    size: () => context.settings().maxConcurrent,
    claim: (limit) => journal.claimRuns(limit, Date.now(), context.limits()),
    perform: async (run) => {
      const { wakes, delivers } = await carryOutRun(run, context);
      if (wakes) heartbeat.ask();
      if (delivers) deliveries.notify();
    },
    drained: setAlarm,
    log,
  });
  const parts = [heartbeat, runs, deliveries];

  return {
    start() {
      lookForWork();
      heartbeat.start();
    },
    notify: () => runs.notify(),
    lookForWork,
    requestHeartbeat: () => heartbeat.ask(),
    status: () => ({
      runningRuns: runs.active(),
      runningDeliveries: deliveries.active(),
      runningHeartbeat: heartbeat.isRunning(),
    }),
    async close(timeoutMs) {
      for (const part of [alarm, ...parts]) part.stop();
      const idle = Promise.all(parts.map((part) => part.idle()));
      await settlesWithin(idle, timeoutMs);
      const cutOff = runs.active() + deliveries.active();
      if (cutOff > 0) log.warn("cut off by the stop", { count: cutOff });
      stop.abort(new Error("the service stops"));
      await idle;
    },
  };

  function lookForWork(): void {
    runs.notify();
    deliveries.notify();
  }

  /** All that is due is taken: rings when the next retry is. */
  async function setAlarm(): Promise<void> {
    const dueAt = (await journal.nextDueAt(context.limits())) ?? Infinity;
    const now = Date.now();
    alarm.set(dueAt > now ? Math.min(dueAt, now + MAX_SLEEP_MS) : now + LOOK_AGAIN_MS);
  }
}
