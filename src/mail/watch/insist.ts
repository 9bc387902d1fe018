import { messageOf } from "../../errors.ts";
import { type BackoffLimits, createBackoff } from "./backoff.ts";
import type { LaneStatus } from "./lane-status.ts";

export interface InsistOptions {
  status: LaneStatus;
  backoff: BackoffLimits;
  /** Rejects where the watch ends. */
  pause(ms: number): Promise<void>;
}

/** Calls the store until it can be had: a disk that is full has room again one day. Rejects where the watch ends before. */
export async function insist<Result>(
  call: () => Result,
  { status, backoff: limits, pause }: InsistOptions,
): Promise<Result> {
  const backoff = createBackoff(limits);
  for (let failures = 0; ; failures += 1) {
    try {
      const result = call();
      if (failures > 0) status.resume();
      return result;
    } catch (error) {
      const waitMs = backoff.next();
      status.enter("store-failed", { error: `the mail store: ${messageOf(error)}`, waitMs });
      await pause(waitMs);
    }
  }
}
