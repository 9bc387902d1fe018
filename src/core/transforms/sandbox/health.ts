import type { Answer, FailedAnswer } from "./child-answer.ts";

/** For this long after a failure that cost others something, the module's calls are made one at a time. */
const SUSPECT_MS = 10_000;
/** How long a call may run beside others: a few times what its module's calls usually take, within these limits. */
const SLICE_MS = { least: 25, most: 100, usual: 4 };
/** The longest pause after slices that were not enough: they should take less than a hundredth of a worker's time. */
const MAX_PAUSE_MS = 3000;
/** After this many such failures in a row the circuit breaker opens. */
const OPEN_AFTER = 5;
/**
 * While it is open, a call is let through as a trial about this often, and an answer closes it. The time is random, so that
 * a sender of bad payloads cannot take every trial from the honest ones.
 */
const TRIAL_EVERY_MS = 1000;
/**
 * A module that answered within this time works: it fails because of what somebody sends. The circuit breaker would refuse
 * the honest senders of the same hook, so it stays closed.
 */
const WORKS_MS = 60 * 60_000;
/** A suspect without a failure or a trial for this long is forgotten if there are too many modules. */
const FORGOTTEN_AFTER_MS = 60 * 60_000;

/** How long a batch of calls may be expected to take. */
const EXPECTED_MS = 2;
/** The weight of the newest call in the average duration. */
const NEWEST_WEIGHT = 0.1;

/** How the calls of one version of a module went. It is asked whenever one of them could be handed to a worker. */
export interface Health {
  /** The module has answered before and has not failed lately: other jobs may wait behind its calls. */
  isTrusted(): boolean;
  /**
   * Calls are suspect: one timed out, ran out of memory or crashed lately, the circuit breaker is open, a call is
   * stuck, or a slice was not enough for the last one.
   */
  isSuspect(): boolean;
  /** Little is lost if this is forgotten: it is not a suspect, or has neither failed nor been tried for an hour. */
  isNegligible(): boolean;
  /** Its calls run alone from the start: one ended a worker lately, or they usually take longer than a slice. */
  needsQuarantine(): boolean;
  /** How long a call may run before it has to run alone, in milliseconds. */
  sliceMs(): number;
  /** A call of a module that is not trusted may start now: the more slices were not enough, the longer the pauses. */
  isProbeDue(): boolean;
  /** While the circuit breaker is open: how long until the next trial, in milliseconds, at least 0. */
  untilTrial(): number | undefined;
  /** While the circuit breaker is open, and it is not time for a trial: the answer to every call. */
  refusal(): RefusedAnswer | undefined;
  /** A call was handed to a worker. */
  begin(): void;
  /** `runMs`: how long a call that was answered ran. */
  record(kind: Answer["kind"], runMs?: number): void;
  /** How many calls to make in one batch, so that it takes no more than a moment. */
  maxBatch(): number;
  /** A slice was not enough. */
  overrun(): void;
  /** A call has run for this long, and still runs. */
  stall(milliseconds: number): void;
  /** A worker ended while it ran a call of this module. That call has another attempt. */
  endWorker(): void;
}

interface RefusedAnswer extends FailedAnswer {
  retryAfterMs: number;
}

export function createHealth(): Health {
  let answeredAt = -Infinity;
  let failedAt = -Infinity;
  let endedWorkerAt = -Infinity;
  /** Slices since the last answer that were not enough. */
  let overruns = 0;
  let probeAt = -Infinity;
  /** Since the last answer. */
  let failures = 0;
  let trialAt = 0;
  /** How long a call runs. */
  let averageMs = EXPECTED_MS;

  const isWithin = (milliseconds: number, since: number): boolean => performance.now() - since < milliseconds;
  const endsWorkers = (): boolean => isWithin(SUSPECT_MS, endedWorkerAt);
  const isOpen = (): boolean => failures >= OPEN_AFTER && !isWithin(WORKS_MS, answeredAt);
  const isSuspect = (): boolean => overruns > 0 || isOpen() || isWithin(SUSPECT_MS, failedAt) || endsWorkers();
  const isTrusted = (): boolean => answeredAt !== -Infinity && !isSuspect();
  const untilTrial = (): number | undefined => (isOpen() ? Math.max(0, trialAt - performance.now()) : undefined);
  return {
    isTrusted,
    isSuspect,
    isNegligible: () => !isSuspect() || !isWithin(FORGOTTEN_AFTER_MS, Math.max(failedAt, endedWorkerAt, probeAt)),
    needsQuarantine: () => endsWorkers() || (isTrusted() && SLICE_MS.usual * averageMs > SLICE_MS.most),
    sliceMs: () => Math.min(SLICE_MS.most, Math.max(SLICE_MS.least, SLICE_MS.usual * averageMs)),
    isProbeDue: () => performance.now() >= probeAt,
    untilTrial,
    refusal() {
      const retryAfterMs = untilTrial();
      if (!retryAfterMs) return undefined;
      const message =
        "The circuit breaker of this transform is open: " +
        `it timed out, ran out of memory or crashed ${failures} times in a row.`;
      return { kind: "unavailable", message, log: [], retryAfterMs };
    },
    begin() {
      if (failures >= OPEN_AFTER) trialAt = nextTrial();
    },
    record(kind, runMs) {
      if (kind === "unavailable" || kind === "bad_payload") return;
      if (runMs !== undefined) averageMs += NEWEST_WEIGHT * (runMs - averageMs);
      if (!countsAsFailure(kind)) {
        answeredAt = performance.now();
        failures = 0;
        overruns = 0;
        return;
      }
      failures++;
      failedAt = performance.now();
      trialAt = nextTrial();
    },
    maxBatch: () => Math.max(1, Math.floor(EXPECTED_MS / averageMs)),
    overrun() {
      probeAt = performance.now() + Math.min(MAX_PAUSE_MS, SLICE_MS.least * (2 ** overruns++ - 1));
    },
    stall(milliseconds) {
      if (milliseconds > SLICE_MS.usual * averageMs) failedAt = performance.now();
    },
    endWorker() {
      endedWorkerAt = performance.now();
    },
  };
}

function nextTrial(): number {
  return performance.now() + TRIAL_EVERY_MS * (0.5 + Math.random());
}

/** Only what costs others: an error that the transform throws does not. */
function countsAsFailure(kind: Answer["kind"]): boolean {
  return kind === "timeout" || kind === "memory" || kind === "crashed";
}
