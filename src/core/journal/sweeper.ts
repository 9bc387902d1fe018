import { messageOf } from "../errors.ts";
import type { Log } from "../telemetry/log.ts";
import type { Journal } from "./journal.ts";

/** The first sweep waits until the service has started up. */
const FIRST_SWEEP_MS = 1000;
const SWEEP_EVERY_MS = 300_000;
/** A burst of large bodies can fill a disk between two sweeps. */
const CHECK_SIZE_MS = 5000;
/** A journal over `maxBytes` is swept once it has grown by this part of it. */
const GROWTH = 0.1;

export interface SweeperOptions {
  journal: Pick<Journal, "lease" | "sweep" | "usedBytes">;
  /** Read at every sweep: a reload may have changed it. */
  retention(): { maxAgeMs: number; dedupeWindowMs: number; maxBytes: number | undefined; maxKeys: number };
  log: Log;
}

export interface Sweeper {
  start(): void;
  /** Resolves once no sweep is running. */
  stop(): Promise<void>;
}

/** Periodically deletes what the journal need not keep, in small batches with pauses, so that other writes do not wait. */
export function createSweeper({ journal, retention, log }: SweeperOptions): Sweeper {
  /** Not while a sweep is running. */
  let timer: NodeJS.Timeout | undefined;
  let sizeTimer: NodeJS.Timeout | undefined;
  /** After the last sweep. */
  let sweptBytes = 0;
  let sweeping: Promise<void> = Promise.resolve();
  const stop = new AbortController();

  return {
    start() {
      schedule(FIRST_SWEEP_MS);
      sizeTimer = setInterval(() => void checkSize(), CHECK_SIZE_MS).unref();
    },
    stop() {
      stop.abort();
      clearTimeout(timer);
      clearInterval(sizeTimer);
      return sweeping;
    },
  };

  function schedule(delayMs: number): void {
    if (stop.signal.aborted) return;
    clearTimeout(timer);
    timer = setTimeout(begin, delayMs).unref();
  }

  async function checkSize(): Promise<void> {
    const { maxBytes = Infinity } = retention();
    const bytes = (await journal.usedBytes().catch(() => undefined)) ?? 0;
    if (timer && bytes > maxBytes && bytes > sweptBytes + maxBytes * GROWTH) schedule(0);
  }

  function begin(): void {
    timer = undefined;
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
    for (let beganAt = performance.now(); await journal.sweep(rules); beganAt = performance.now()) {
      // Other writes have as much time as the batch.
      await pause(performance.now() - beganAt);
      if (stop.signal.aborted) return;
    }
    sweptBytes = (await journal.usedBytes()) ?? 0;
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
