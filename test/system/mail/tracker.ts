import { setTimeout as sleep } from "node:timers/promises";
import { type Audit, audit } from "./audit.ts";
import type { TestBed } from "./test-bed.ts";
import { readArrivals } from "./read-arrivals.ts";

const POLL_MS = 300;
/** The longest time without progress. */
const STUCK_MS = 120_000;

/** Compares the mails that an agent got with those that were sent. */
export interface Tracker {
  /**
   * Waits until all mails have arrived and no work is left, or until there is no more progress. Returns the
   * differences since the last call.
   */
  waitUntilDone(): Promise<Audit>;
  /** All differences, from the beginning. */
  auditAll(): Promise<Audit>;
}

export function createTracker({ mailer, service: { client, url } }: TestBed): Tracker {
  const arrivals = new Map<string, string[]>();
  let previous = { at: 0, sent: 0, double: 0 };
  return { waitUntilDone, auditAll };

  async function waitUntilDone(): Promise<Audit> {
    const at = Date.now();
    await waitWhileProgress();
    const result = differences();
    previous = { at, sent: mailer.sent.length, double: previous.double + result.double };
    return result;
  }

  async function waitWhileProgress(): Promise<void> {
    let lowest = Infinity;
    let progressAt = performance.now();
    while (performance.now() - progressAt < STUCK_MS) {
      // Events that are read again are recognized by their ids.
      for (const [id, tokens] of await readArrivals(url, previous.at)) arrivals.set(id, tokens);
      const unfinished = differences().lost + (await countUnfinished());
      if (unfinished === 0) return;
      if (unfinished < lowest) [lowest, progressAt] = [unfinished, performance.now()];
      await sleep(POLL_MS);
    }
  }

  function differences(): Audit {
    const { double, ...rest } = audit(mailer.sent.slice(previous.sent), [...arrivals.values()].flat());
    return { ...rest, double: double - previous.double };
  }

  async function auditAll(): Promise<Audit> {
    const all = await readArrivals(url, 0);
    return audit(mailer.sent, [...all.values()].flat());
  }

  /** Waiting turns, and folders that are not being watched. */
  async function countUnfinished(): Promise<number> {
    const { queue, mail } = await client.api("/api/status");
    const folders: { state: string; remaining: number }[] = mail?.folders ?? [];
    const behind = folders.filter(({ state, remaining }) => state !== "watching" || remaining > 0);
    return queue.pendingRuns + behind.length;
  }
}
