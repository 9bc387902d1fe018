import { setImmediate as nextTurn } from "node:timers/promises";
import { messageOf } from "../errors.ts";
import type { Log } from "../telemetry/log.ts";
import type { Journal } from "./journal.ts";

/** The first sweep waits until the service has found its feet. */
const FIRST_MS = 1000;
const EVERY_MS = 300_000;

export interface SweeperOptions {
  journal: Pick<Journal, "sweep">;
  /** Asked at every sweep: a reload may have changed it. */
  retention(): { maxAgeMs: number; maxBytes: number | undefined; maxKeys: number };
  log: Log;
}

export interface Sweeper {
  start(): void;
  /** Resolves once nothing of a sweep is under way. */
  stop(): Promise<void>;
}

/** Deletes from time to time what the journal need not keep, a little at a time, so that nobody waits for it. */
export function createSweeper({ journal, retention, log }: SweeperOptions): Sweeper {
  let timer: NodeJS.Timeout | undefined;
  let sweeping: Promise<void> = Promise.resolve();
  const stop = new AbortController();

  return {
    start: () => schedule(FIRST_MS),
    stop() {
      stop.abort();
      clearTimeout(timer);
      return sweeping;
    },
  };

  function schedule(delayMs: number): void {
    if (stop.signal.aborted) return;
    // Whoever only waits for a sweep may end.
    timer = setTimeout(begin, delayMs).unref();
  }

  function begin(): void {
    sweeping = sweep()
      .catch((error: unknown) => log.warn("sweep failed, will try again", { error: messageOf(error) }))
      .finally(() => schedule(EVERY_MS));
  }

  async function sweep(): Promise<void> {
    const now = Date.now();
    const { maxAgeMs, ...most } = retention();
    const rules = { now, keepFrom: now - maxAgeMs, ...most };
    while (!stop.signal.aborted && (await journal.sweep(rules))) await nextTurn();
  }
}
