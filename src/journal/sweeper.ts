import { setImmediate as nextTurn } from "node:timers/promises";
import { messageOf } from "../errors.ts";
import type { Log } from "../telemetry/log.ts";
import type { Journal } from "./journal.ts";

/** The first sweep waits until the service has started up. */
const FIRST_SWEEP_MS = 1000;
const SWEEP_EVERY_MS = 300_000;

export interface SweeperOptions {
  journal: Pick<Journal, "lease" | "sweep">;
  /** Read at every sweep: a reload may have changed it. */
  retention(): { maxAgeMs: number; dedupeWindowMs: number; maxBytes: number | undefined; maxKeys: number };
  log: Log;
}

export interface Sweeper {
  start(): void;
  /** Resolves once no sweep is running. */
  stop(): Promise<void>;
}

/** Periodically deletes what the journal need not keep, in small batches so that other writes do not wait. */
export function createSweeper({ journal, retention, log }: SweeperOptions): Sweeper {
  let timer: NodeJS.Timeout | undefined;
  let sweeping: Promise<void> = Promise.resolve();
  const stop = new AbortController();

  return {
    start: () => schedule(FIRST_SWEEP_MS),
    stop() {
      stop.abort();
      clearTimeout(timer);
      return sweeping;
    },
  };

  function schedule(delayMs: number): void {
    if (stop.signal.aborted) return;
    timer = setTimeout(begin, delayMs).unref();
  }

  function begin(): void {
    sweeping = sweep()
      .catch((error: unknown) => log.warn("sweep failed, will try again", { error: messageOf(error) }))
      .finally(() => schedule(SWEEP_EVERY_MS));
  }

  async function sweep(): Promise<void> {
    // Another node may be sweeping.
    if (!(await journal.lease("sweep"))) return;
    const now = Date.now();
    const { maxAgeMs, dedupeWindowMs, ...limits } = retention();
    const rules = { now, keepFrom: now - maxAgeMs, keepMessagesFrom: now - dedupeWindowMs, ...limits };
    while (!stop.signal.aborted && (await journal.sweep(rules))) await nextTurn();
  }
}
