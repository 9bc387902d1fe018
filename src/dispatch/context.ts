import { setTimeout as delay } from "node:timers/promises";
import type { AgentDriver } from "../agents/driver.ts";
import type { ChannelDriver } from "../channels/driver.ts";
import type { ResolvedConfig } from "../config/types.ts";
import { JournalUnavailable } from "../errors.ts";
import type { Journal, RunLimits } from "../journal/journal.ts";
import { backoffMs } from "../shared/backoff.ts";
import type { Log } from "../telemetry/log.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { ChannelName } from "../types.ts";

/** What a reload replaces is a function; it is called for each piece of work. */
export interface DispatcherOptions {
  journal: Journal;
  agent(): AgentDriver;
  channels(): ReadonlyMap<ChannelName, ChannelDriver>;
  /** Splits a text into parts of at most `limit` units of `measure`. */
  split(text: string, size: { limit: number; measure?: (text: string) => number }): string[];
  settings(): ResolvedConfig["agents"];
  session(): ResolvedConfig["session"];
  limits(): RunLimits;
  telemetry: Telemetry;
}

export interface DispatchContext extends Omit<DispatcherOptions, "journal"> {
  /** Its calls wait while the journal is unavailable. */
  journal: DispatchJournal;
  log: Log;
  /** Aborts when the shutdown timeout is over. */
  signal: AbortSignal;
}

export function createContext(options: DispatcherOptions, signal: AbortSignal): DispatchContext {
  const { log } = options.telemetry;
  return { ...options, log, journal: createRetryingJournal(options.journal, { log, signal }), signal };
}

/** The methods of a journal that return promises. */
type DispatchJournal = Omit<Journal, "watch">;

function createRetryingJournal(journal: DispatchJournal, options: RetryOptions): DispatchJournal {
  const methods = Object.entries(journal).map(([name, call]: [string, (...args: never[]) => Promise<unknown>]) => [
    name,
    (...args: never[]) => retryWhileUnavailable(() => call(...args), options),
  ]);
  return Object.fromEntries(methods);
}

interface RetryOptions {
  log: Log;
  signal: AbortSignal;
}

const BACKOFF = { firstMs: 200, maxMs: 10_000 };

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
      await delay(backoffMs(failures, BACKOFF), undefined, { signal });
    }
  }
}
