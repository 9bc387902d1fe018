import { setImmediate as nextTurn } from "node:timers/promises";
import type { Log } from "../telemetry/log.ts";

export interface PoolOptions<Item> {
  /** How many may be under way at once. Read at each claim. */
  size(): number;
  /** Takes up to `limit` items that are due. */
  claim(limit: number): Promise<Item[]>;
  /** Carries one out, failures included: a rejection is a fault and is only logged. */
  perform(item: Item): Promise<void>;
  /** Called when a claim took all that was due. */
  drained(): Promise<void>;
  log: Log;
}

export interface Pool {
  /** Something may be due. Cheap: many calls become one claim. */
  notify(): void;
  /** How many are under way. */
  active(): number;
  /** Claims nothing more. */
  stop(): void;
  /** Resolves when nothing is under way. */
  idle(): Promise<void>;
}

/** Keeps up to `size()` items under way side by side, and claims more as they end. */
export function createPool<Item>(options: PoolOptions<Item>): Pool {
  const active = new Set<Promise<void>>();
  let filling: Promise<void> | undefined;
  let notified = false;
  let stopped = false;

  return {
    notify,
    active: () => active.size,
    stop: () => {
      stopped = true;
    },
    async idle() {
      await filling;
      await Promise.all(active);
    },
  };

  function notify(): void {
    notified = true;
    // not before the next turn of the loop: what one commit ended is then replaced by one claim
    if (!stopped) filling ??= nextTurn().then(fill).catch(report);
  }

  async function fill(): Promise<void> {
    try {
      while (mayClaim()) {
        notified = false;
        const limit = room();
        const items = await options.claim(limit);
        items.forEach(start);
        if (items.length < limit) await options.drained();
      }
    } finally {
      filling = undefined;
    }
  }

  function start(item: Item): void {
    const task = options
      .perform(item)
      .catch(report)
      .finally(() => {
        active.delete(task);
        notify();
      });
    active.add(task);
  }

  function mayClaim(): boolean {
    return notified && !stopped && room() > 0;
  }

  function room(): number {
    return options.size() - active.size;
  }

  function report(error: unknown): void {
    if (!stopped) options.log.error("dispatch fault", { error: String(error) });
  }
}
