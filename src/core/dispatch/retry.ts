import { setTimeout as delay } from "node:timers/promises";
import { DriverError, JournalUnavailable, NotConfigured } from "../errors.ts";
import type { ClaimedDelivery, ClaimedRun, Journal, NodeRecord } from "../journal/journal.ts";
import { type Backoff, backoffMs, HOUR_MS } from "../shared/time.ts";
import type { Log } from "../telemetry/log.ts";

export interface RetryPolicy extends Backoff {
  maxAttempts: number;
}

/** A longer `Retry-After` is shortened to this. `MAX_RETRY_MS` of the journal is longer. */
export const MAX_RETRY_AFTER_MS = HOUR_MS;

/**
 * How long to wait before the next attempt, in milliseconds; undefined when the error is permanent or no attempt is left.
 * A `Retry-After` is respected, with up to a tenth more so that clients do not return together.
 */
export function retryDelayMs(error: unknown, attempts: number, policy: RetryPolicy): number | undefined {
  if (attempts >= policy.maxAttempts) return undefined;
  if (!(error instanceof DriverError)) return backoffMs(attempts, policy);
  if (!error.retryable) return undefined;
  if (error.retryAfterMs === undefined) return backoffMs(attempts, policy);
  return Math.min(error.retryAfterMs, MAX_RETRY_AFTER_MS) * (1 + Math.random() / 10);
}

/** How long a run waits in all for a provider that is unavailable. */
export const MAX_OUTAGE_MS = 30 * 60_000;
/** The wait is as long as the outage so far, within these. */
const OUTAGE_WAIT_MS = { min: 1000, max: 60_000 };

/** Whether the provider is overloaded or cannot be reached: the run is not at fault. */
export function isUnavailable(error: unknown): error is DriverError {
  return error instanceof DriverError && error.modelFailure === "unavailable";
}

/** How long to wait for an unavailable provider, in milliseconds; undefined when the run has waited long enough. */
export function outageDelayMs(
  { retryAfterMs = 0 }: Pick<DriverError, "retryAfterMs">,
  { since, now }: { since: number; now: number },
): number | undefined {
  const left = since + MAX_OUTAGE_MS - now;
  if (left <= 0) return undefined;
  const ownMs = Math.min(Math.max(now - since, OUTAGE_WAIT_MS.min), OUTAGE_WAIT_MS.max);
  return Math.min(Math.max(ownMs, retryAfterMs) * (1 + Math.random() / 10), left);
}

/** How many attempts of claimed work have failed, with this one. An attempt during which the process ended does not count. */
export function countFailures({ attempts, interruptions }: ClaimedRun | ClaimedDelivery): number {
  return attempts - (interruptions?.times ?? 0);
}

/**
 * Whether a claim still holds, asked before an effect outside. While the journal was away, this node's lease may have ended:
 * then another node may have the work. `claimedAt` is a time of `performance.now()`.
 */
export async function isClaimHeld(
  { keepLease }: Pick<Journal, "keepLease">,
  claimedAt: number,
  check: () => Promise<boolean>,
): Promise<boolean> {
  return (await keepLease(claimedAt)) || check();
}

/** After how long work that another node may be able to do is claimed again, by any of them. */
export const GIVE_BACK_MS = 2000;

/** A node that has just started or reloaded has said so by then. */
const KNOWN_AFTER_MS = 5000;

interface NodesOfWork {
  journal: Pick<Journal, "nodes">;
  signal: AbortSignal;
}

/** Whether the work needs a provider or channel that this node does not have, while another node has another configuration. */
export async function isForOthers(cause: unknown, of: NodesOfWork): Promise<boolean> {
  return cause instanceof NotConfigured && (await haveOtherConfigurations(of));
}

/** Whether another node has another configuration. */
export async function haveOtherConfigurations({ journal, signal }: NodesOfWork): Promise<boolean> {
  const nodes = await journal.nodes();
  if (nodes.length === 0 || areDifferent(nodes)) return nodes.length > 0;
  await delay(KNOWN_AFTER_MS, undefined, { signal });
  return areDifferent(await journal.nodes());
}

function areDifferent(nodes: NodeRecord[]): boolean {
  const alive = nodes.filter(({ isAlive }) => isAlive);
  return new Set(alive.map(({ config, version }) => `${config} ${version}`)).size > 1;
}

const MAX_ERROR_CHARACTERS = 500;

/** An error whose message can be shown and stored: a driver words its own, anything else is unexpected. */
export function toFailure(cause: unknown): Error {
  if (cause instanceof DriverError && cause.message.length <= MAX_ERROR_CHARACTERS) return cause;
  const text = cause instanceof DriverError ? cause.message : `unexpected error: ${String(cause)}`;
  return new Error(text.slice(0, MAX_ERROR_CHARACTERS), { cause });
}

/** The journal's methods for the dispatcher, which return promises, and `sign`. */
export type DispatchJournal = Omit<Journal, "watch" | "watchChanges" | "publications">;

/** A journal whose calls wait while it is unavailable. */
export function createRetryingJournal(journal: DispatchJournal, options: RetryOptions): DispatchJournal {
  const { sign, ...others } = journal;
  const methods = Object.entries(others).map(([name, call]: [string, (...args: never[]) => Promise<unknown>]) => [
    name,
    (...args: never[]) => retryWhileUnavailable(() => call(...args), options),
  ]);
  return Object.fromEntries([...methods, ["sign", sign]]);
}

interface RetryOptions {
  log: Log;
  signal: AbortSignal;
}

const JOURNAL_BACKOFF = { firstMs: 200, maxMs: 10_000 };

/**
 * Repeats a call until the journal is available: the result of a turn must not be lost because the disk is full. Rejects
 * with any other error at once, and with the signal's reason when it aborts.
 */
export async function retryWhileUnavailable<Result>(
  call: () => Promise<Result>,
  { log, signal }: RetryOptions,
): Promise<Result> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof JournalUnavailable)) throw error;
      signal.throwIfAborted();
      log.warn("journal unavailable, will try again", { failures, error: error.message });
      await delay(backoffMs(failures, JOURNAL_BACKOFF), undefined, { signal });
    }
  }
}
