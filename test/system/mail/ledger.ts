import { setTimeout as sleep } from "node:timers/promises";
import { type Audit, audit } from "./audit.ts";
import type { Field } from "./field.ts";
import { readArrivals } from "./read-arrivals.ts";

const LOOK_EVERY_MS = 300;
/** The longest time without progress. */
const STUCK_MS = 120_000;

/** Compares the mails that an agent got with those that were sent. */
export interface Ledger {
  /**
   * Waits until all mails have arrived and nothing is left to do, or until there is no more progress. Returns the
   * differences since the last call.
   */
  settle(): Promise<Audit>;
  /** All differences, from the beginning. */
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
      // Events that are read again are recognised by their ids.
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

  /** Waiting turns, and folders that are not being watched. */
  async function countLeft(): Promise<number> {
    const { queue, mail } = await client.api("/api/status");
    const folders: { state: string; remaining: number }[] = mail?.folders ?? [];
    const behind = folders.filter(({ state, remaining }) => state !== "watching" || remaining > 0);
    return queue.pendingRuns + behind.length;
  }
}
