import { beat, type BeatEnd, MOST_EVENTS } from "./beat.ts";
import type { DispatchContext } from "./context.ts";
import { backoffMs } from "./retry.ts";
import { createAlarm } from "./alarm.ts";

/** Least time between two heartbeats: under a flood of asks, many become one. */
const LEAST_GAP_MS = 100;

/** After failures. No end to the tries: the events stay pending, and asks wait for the next try. */
const BACKOFF = { firstMs: 2000, mostMs: 300_000 };

/** How often the configured period is looked at again: a reload may have changed it. */
const LONGEST_SLEEP_MS = 60_000;

export interface Heartbeat {
  /** Starts the periodic ones, and one at once where a system event still asks for it. */
  start(): void;
  /** Asks for one at once. Asks that come before it starts are one. */
  ask(): void;
  isRunning(): boolean;
  stop(): void;
  /** Resolves when none is under way. */
  idle(): Promise<void>;
}

/** Decides when the main session's heartbeats run: never two at a time. They take no place from the runs. */
export function createHeartbeat(context: DispatchContext, onEnd: (end: BeatEnd) => void): Heartbeat {
  const { log } = context;
  const next = createAlarm(begin);
  const period = createAlarm(checkPeriod);
  let lastPeriodAt = Date.now();
  let running: Promise<void> | undefined;
  let asked = false;
  let stopped = false;
  let failures = 0;
  let notBefore = 0;

  return {
    start() {
      lastPeriodAt = Date.now();
      checkPeriod();
      askIfUrgent().catch(reportFault);
    },
    ask,
    isRunning: () => running !== undefined,
    stop() {
      stopped = true;
      next.stop();
      period.stop();
    },
    idle: async () => running,
  };

  function ask(): void {
    asked = true;
    if (!running) next.set(notBefore);
  }

  function begin(): void {
    if (stopped) return;
    asked = false;
    running = run().finally(() => {
      running = undefined;
      if (asked) ask();
    });
  }

  async function run(): Promise<void> {
    try {
      const end = await beat(context);
      failures = 0;
      notBefore = Date.now() + LEAST_GAP_MS;
      asked ||= end.more;
      onEnd(end);
    } catch (error) {
      if (context.signal.aborted) return;
      failures += 1;
      notBefore = Date.now() + backoffMs(failures, BACKOFF);
      asked = true;
      log.warn("heartbeat failed, will try again", { failures, error: String(error) });
    }
  }

  function checkPeriod(): void {
    const now = Date.now();
    const { everyMs } = context.settings().heartbeat;
    if (now - lastPeriodAt >= everyMs) {
      lastPeriodAt = now;
      ask();
    }
    period.set(now + Math.min(lastPeriodAt + everyMs - now, LONGEST_SLEEP_MS));
  }

  /** What was asked for before the service stopped is not forgotten. A full page may hide an urgent one behind it. */
  async function askIfUrgent(): Promise<void> {
    const pending = await context.journal.pendingSystemEvents(MOST_EVENTS);
    if (pending.some(({ urgent }) => urgent) || pending.length === MOST_EVENTS) ask();
  }

  function reportFault(error: unknown): void {
    if (!context.signal.aborted) log.error("heartbeat fault", { error: String(error) });
  }
}
