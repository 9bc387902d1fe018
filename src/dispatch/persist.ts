import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "../telemetry/log.ts";
import { backoffMs } from "./retry.ts";

const BACKOFF = { firstMs: 200, mostMs: 10_000 };

/**
 * Repeats what the journal could not do until it can: what has happened outside must not be lost for a full disk.
 * Rejects with any other error at once, and with the signal's reason when that aborts.
 */
export async function persist<Result>(
  write: () => Promise<Result>,
  { log, signal }: { log: Log; signal: AbortSignal },
): Promise<Result> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await write();
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      signal.throwIfAborted();
      log.warn("journal unavailable, will try again", { failures, error: error.message });
      await delay(backoffMs(failures, BACKOFF), undefined, { signal });
    }
  }
}

/** By name: the class belongs to the journal, which this folder knows only as a type. */
function isUnavailable(error: unknown): error is Error {
  return error instanceof Error && error.name === "JournalUnavailable";
}
