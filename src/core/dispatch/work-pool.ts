import type { Claim } from "../journal/journal.ts";
import type { Log } from "../telemetry/log.ts";

/** The modes of a pool, with those that may follow each; `enter` asserts it. */
const NEXT_MODES = {
  /** Everything that was due is claimed, and a slot is free. `notify` ends it. */
  waiting: ["claiming", "full", "stopped"],
  /** The journal is asked for as many items as slots are free. */
  claiming: ["claiming", "waiting", "full", "stopped"],
  /** No slot is free: something may be due, and the next slot that is freed ends it. */
  full: ["claiming", "stopped"],
  /** Nothing more is claimed. */
  stopped: ["stopped"],
} as const;

type PoolMode = keyof typeof NEXT_MODES;

export interface PoolOptions<Item extends Claim> {
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

export interface Pool<Item> {
  /** Something may be due, or the pool may have grown. */
  notify(): void;
  /** Executes an item that was claimed elsewhere, beyond `size()`. */
  execute(item: Item): void;
  mode(): PoolMode;
  /** How many items are in progress. */
  active(): number;
  /** Claims nothing more. */
  stop(): void;
  /** Resolves when nothing is in progress. */
  idle(): Promise<void>;
}

/** Keeps up to `size()` items in progress, and claims more as they end. */
export function createPool<Item extends Claim>(options: PoolOptions<Item>): Pool<Item> {
  const active = new Set<Promise<void>>();
  let mode: PoolMode = "waiting";
  /** How many of the active items have freed their slot. */
  let freed = 0;
  /** While claiming: what became due meanwhile may not be among the items. */
  let isNotified = false;
  let claiming: Promise<void> | undefined;

  return {
    notify,
    execute: start,
    mode: () => mode,
    active: () => active.size,
    stop: () => enter("stopped"),
    async idle() {
      await claiming;
      await Promise.all(active);
    },
  };

  function notify(): void {
    if (mode === "claiming") isNotified = true;
    else if (mode === "waiting" || (mode === "full" && freeSlots() > 0)) claiming = claimAll();
  }

  /** Claims until nothing is due or no slot is free. */
  async function claimAll(): Promise<void> {
    try {
      while (mode !== "stopped" && freeSlots() > 0) {
        enter("claiming");
        const limit = freeSlots();
        const items = await options.claim(limit);
        items.forEach(start);
        if (items.length < limit) options.onDrained();
        if (!isNotified) break;
      }
    } catch (error) {
      report(error);
    }
    if (!isStopped()) enter(freeSlots() > 0 ? "waiting" : "full");
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

  function enter(next: PoolMode): void {
    const allowed: readonly PoolMode[] = NEXT_MODES[mode];
    if (!allowed.includes(next)) throw new Error(`a pool that is ${mode} cannot become ${next}`);
    if (next === "claiming") isNotified = false;
    mode = next;
  }

  function freeSlots(): number {
    return options.size() - active.size + freed;
  }

  /** A function, because the mode changes while a claim is awaited. */
  function isStopped(): boolean {
    return mode === "stopped";
  }

  function report(error: unknown): void {
    if (!isStopped()) options.log.error("dispatch: unexpected error", { error: String(error) });
  }
}
