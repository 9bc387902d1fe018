import { setTimeout as sleep } from "node:timers/promises";
import { type Audit, audit } from "./audit.ts";
import type { Field } from "./field.ts";
import { readArrivals } from "./read-arrivals.ts";

const LOOK_EVERY_MS = 300;
/** How long there may be no headway. */
const STUCK_MS = 120_000;

/** Holds what an agent was given against what was sent. */
export interface Ledger {
  /**
   * Waits until all has arrived and nothing is left to be done, or until there is no headway any more. Gives what differs
   * since it was last called.
   */
  settle(): Promise<Audit>;
  /** What differs in all, read from the beginning. */
  auditAll(): Promise<Audit>;
}

export function createLedger({ postOffice, service: { client, url } }: Field): Ledger {
  const arrivals = new Map<string, string[]>();
  let settled = { at: 0, sent: 0, double: 0 };
  return { settle, auditAll };

  async function settle(): Promise<Audit> {
    const at = Date.now();
    await untilNothingIsLeft();
    const result = differences();
    settled = { at, sent: postOffice.sent.length, double: settled.double + result.double };
    return result;
  }

  async function untilNothingIsLeft(): Promise<void> {
    let least = Infinity;
    let progressAt = performance.now();
    while (performance.now() - progressAt < STUCK_MS) {
      // events that are read again are known by their ids
      for (const [id, tokens] of await readArrivals(url, settled.at)) arrivals.set(id, tokens);
      const left = differences().lost + (await countLeft());
      if (left === 0) return;
      if (left < least) [least, progressAt] = [left, performance.now()];
      await sleep(LOOK_EVERY_MS);
    }
  }

  function differences(): Audit {
    const { double, ...rest } = audit(postOffice.sent.slice(settled.sent), [...arrivals.values()].flat());
    return { ...rest, double: double - settled.double };
  }

  async function auditAll(): Promise<Audit> {
    const all = await readArrivals(url, 0);
    return audit(postOffice.sent, [...all.values()].flat());
  }

  /** Turns that wait, and folders that are not watched as they should be. */
  async function countLeft(): Promise<number> {
    const { queue, mail } = await client.api("/api/status");
    const folders: { state: string; remaining: number }[] = mail?.folders ?? [];
    const behind = folders.filter(({ state, remaining }) => state !== "watching" || remaining > 0);
    return queue.pendingRuns + behind.length;
  }
}
