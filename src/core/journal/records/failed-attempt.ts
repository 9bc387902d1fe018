/** How many failed attempts of a run or delivery are kept: the last ones. */
export const MAX_FAILED_ATTEMPTS = 20;

/** The error of an attempt during which the process ended. */
export const INTERRUPTED = "the service ended during this attempt";

/** An attempt of a run or delivery that failed, also one that did not count. */
export interface FailedAttempt {
  /** Its number among the failed ones, from 1. */
  n: number;
  startedAt: number;
  /** Absent: its process ended during it. */
  endedAt?: number;
  error: string;
  /** Warnings before the failure. */
  warnings?: readonly string[];
}

/** The attempts of a claimed run or delivery during which the process ended, in a row up to this one. */
export interface Interruptions {
  times: number;
  /** When the first of them was noticed. */
  since: number;
}
