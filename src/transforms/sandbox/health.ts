import type { Answer, FailedAnswer } from "./answer.ts";

/** So long after a failure that cost others something, the module's calls get little time first. */
const SUSPECT_MS = 10_000;
/** That time: a few times what its calls usually take, within these limits. Then a call runs again alone. */
const BRIEF_MS = { least: 25, most: 100, usual: 4 };
/** The longest pause after brief runs of which none was enough: they shall not take a hundredth of a worker's time. */
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

/** Calls are made together if they are expected to take no longer. */
const EXPECTED_MS = 2;
/** The weight of the newest call in the average duration. */
const NEWEST_WEIGHT = 0.1;

/** How the calls of one version of a module went. It is asked whenever one of them could be handed to a worker. */
export interface Health {
  /** The module has answered before and has not failed lately: other jobs may wait behind its calls. */
  isTrusted(): boolean;
  /** It timed out, ran out of memory or crashed lately, or a call of it is stuck. */
  isSuspect(): boolean;
  /** A worker ended lately while it ran a call of this module. */
  endsWorkers(): boolean;
  /** How long a call of a module that is not trusted may run before it has to run alone, in milliseconds. */
  briefMs(): number;
  /** A brief run may start now: the more of them were not enough, the longer the pauses. */
  isBriefDue(): boolean;
  /** While the circuit breaker is open: how long until the next trial, in milliseconds, at least 0. */
  untilTrial(): number | undefined;
  /** While the circuit breaker is open, and it is not time for a trial: the answer to every call. */
  refusal(): RefusedAnswer | undefined;
  /** A call was handed to a worker. */
  begin(): void;
  /** `runMs`: how long a call that was answered ran. */
  record(kind: Answer["kind"], runMs?: number): void;
  /** How many calls should be made together, so that they take no more than a moment. */
  mostTogether(): number;
  /** A brief run was not enough. */
  overrun(): void;
  /** A call has run for so long and goes on. */
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
  /** Brief runs since the last answer that were not enough. */
  let overruns = 0;
  let briefAt = 0;
  /** Since the last answer. */
  let failures = 0;
  let trialAt = 0;
  /** How long a call runs. */
  let averageMs = EXPECTED_MS;

  const isWithin = (milliseconds: number, since: number): boolean => performance.now() - since < milliseconds;
  const endsWorkers = (): boolean => isWithin(SUSPECT_MS, endedWorkerAt);
  const isSuspect = (): boolean => isWithin(SUSPECT_MS, failedAt) || endsWorkers();
  const isOpen = (): boolean => failures >= OPEN_AFTER && !isWithin(WORKS_MS, answeredAt);
  const untilTrial = (): number | undefined => (isOpen() ? Math.max(0, trialAt - performance.now()) : undefined);
  return {
    isTrusted: () => answeredAt !== -Infinity && !isSuspect(),
    isSuspect,
    endsWorkers,
    briefMs: () => Math.min(BRIEF_MS.most, Math.max(BRIEF_MS.least, BRIEF_MS.usual * averageMs)),
    isBriefDue: () => performance.now() >= briefAt,
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
      if (kind === "unavailable") return;
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
    mostTogether: () => Math.max(1, Math.floor(EXPECTED_MS / averageMs)),
    overrun() {
      briefAt = performance.now() + Math.min(MAX_PAUSE_MS, BRIEF_MS.least * 2 ** overruns++);
    },
    stall(milliseconds) {
      if (milliseconds > BRIEF_MS.usual * averageMs) failedAt = performance.now();
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
