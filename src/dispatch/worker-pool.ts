import { setImmediate as nextTurn } from "node:timers/promises";
import type { Log } from "../telemetry/log.ts";

export interface PoolOptions<Item> {
  /** How many items may be in progress at once. Read at each claim. */
  size(): number;
  /** Claims up to `limit` items that are due. */
  claim(limit: number): Promise<Item[]>;
  /** Handles failures itself: a rejection is unexpected and only logged. */
  execute(item: Item): Promise<void>;
  /** Called when everything that was due is claimed. */
  onDrained(): Promise<void>;
  log: Log;
}

export interface Pool {
  /** Something may be due. Many calls in one turn of the event loop lead to one claim. */
  notify(): void;
  /** How many items are in progress. */
  active(): number;
  /** Claims nothing more. */
  stop(): void;
  /** Resolves when nothing is in progress. */
  idle(): Promise<void>;
}

/** Keeps up to `size()` items in progress, and claims more as they end. */
export function createPool<Item>(options: PoolOptions<Item>): Pool {
  const active = new Set<Promise<void>>();
  let filling: Promise<void> | undefined;
  let notified = false;
  let stopped = false;

  return {
    notify,
    active: () => active.size,
    stop: () => void (stopped = true),
    async idle() {
      await filling;
      await Promise.all(active);
    },
  };

  function notify(): void {
    notified = true;
    // The next turn of the event loop: one claim then replaces all items that ended with the same commit.
    if (!stopped) filling ??= nextTurn().then(fill).catch(report);
  }

  async function fill(): Promise<void> {
    try {
      while (mayClaim()) {
        notified = false;
        const limit = freeSlots();
        const items = await options.claim(limit);
        items.forEach(start);
        if (items.length < limit) await options.onDrained();
      }
    } finally {
      filling = undefined;
    }
  }

  function start(item: Item): void {
    const task = options
      .execute(item)
      .catch(report)
      .finally(() => {
        active.delete(task);
        notify();
      });
    active.add(task);
  }

  function mayClaim(): boolean {
    return notified && !stopped && freeSlots() > 0;
  }

  function freeSlots(): number {
    return options.size() - active.size;
  }

  function report(error: unknown): void {
    if (!stopped) options.log.error("dispatch: unexpected error", { error: String(error) });
  }
}
