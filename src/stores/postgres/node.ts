import type { NodeInfo } from "../../core/journal/journal.ts";
import { createNonce } from "../../core/shared/id.ts";
import type { Renewal } from "./leases.ts";

/** This process, among those that share the database. */
export interface Node {
  id: string;
  now(): number;
  /** By how many milliseconds the database's clock is ahead. */
  clockOffsetMs: number;
  /** Tokens of claims whose answer never came, with the time after which nothing more comes under them. */
  lostTokens: Map<number, number>;
}

export function createNode(now: () => number): Node {
  return { id: createNonce().slice(0, 12), now, clockOffsetMs: 0, lostTokens: new Map() };
}

/** A transaction whose answer is lost can still be committed, until the server has noticed. */
const LOST_FOR_MS = 120_000;

export function forgetLater({ lostTokens, now }: Node, tokens: number[]): void {
  for (const token of tokens) lostTokens.set(token, now() + LOST_FOR_MS);
}

export function takeLostTokens({ lostTokens, now }: Node): number[] {
  const tokens = [...lostTokens.keys()];
  for (const [token, until] of lostTokens) if (until < now()) lostTokens.delete(token);
  return tokens;
}

export interface NodeLease {
  /** Extends it by `forMs` from now. */
  renew(forMs: number, info?: NodeInfo): Promise<void>;
  /** Extends it if less than a third is left. Gives whether it has lasted since a moment of `performance.now()`. */
  keep(since: number): Promise<boolean>;
  /** Whether what ended nodes hold may be taken. */
  mayTake(): boolean;
}

/**
 * The lease under which a node holds everything. While the database is away, the leases of all nodes end. The first that
 * renews its own takes nothing from the others before its next renewal: they have had time for theirs.
 */
export function createNodeLease(node: Node, send: (forMs: number, info?: NodeInfo) => Promise<Renewal>): NodeLease {
  let lastMs = 0;
  let renewed: Moment | undefined;
  /** When it was acquired after it had ended. */
  let regainedAt = -Infinity;
  let renewalsToWait = 0;
  let keeping: Promise<void> | undefined;

  return {
    async renew(forMs, info) {
      const hadEnded = await extend(forMs, info);
      if (hadEnded) renewalsToWait = 1;
      else renewalsToWait = Math.max(0, renewalsToWait - 1);
    },
    async keep(since) {
      if (leftMs() <= lastMs / 3) await (keeping ??= keep().finally(() => (keeping = undefined)));
      return regainedAt <= since;
    },
    mayTake: () => renewalsToWait === 0,
  };

  /** Comes early, and does not count as the next renewal. */
  async function keep(): Promise<void> {
    if (await extend(lastMs)) renewalsToWait = 2;
  }

  /** True if it had ended. */
  async function extend(forMs: number, info?: NodeInfo): Promise<boolean> {
    const started = now();
    const renewal = await send(forMs, info);
    const hadEnded = renewal.hadEnded || (renewed !== undefined && leftMs() <= 0);
    [lastMs, renewed] = [forMs, started];
    if (hadEnded) regainedAt = performance.now();
    return hadEnded;
  }

  function leftMs(): number {
    if (!renewed) return 0;
    const { wall, monotonic } = now();
    // One clock may be set back, the other one stands still while the machine sleeps.
    return lastMs - Math.max(wall - renewed.wall, monotonic - renewed.monotonic);
  }

  function now(): Moment {
    return { wall: node.now(), monotonic: performance.now() };
  }
}

interface Moment {
  wall: number;
  monotonic: number;
}

/** Clocks that agree to the second count as one: a smaller difference is no larger than the way there and back. */
const MIN_DIFFERENCE_MS = 1000;

/** `there`: the database's clock, read since `before`. */
export function compareClocks(node: Node, there: number, before: number): void {
  const after = node.now();
  // A slow answer says less than the one before.
  if (after - before > MIN_DIFFERENCE_MS && node.clockOffsetMs !== 0) return;
  const difference = there - (before + after) / 2;
  node.clockOffsetMs = Math.abs(difference) < MIN_DIFFERENCE_MS ? 0 : Math.round(difference);
}
