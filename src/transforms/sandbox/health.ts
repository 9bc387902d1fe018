import type { Answer, FailedAnswer } from "./answer.ts";

/** So long after a failure that cost others something, the module's calls run alone. */
const SUSPECT_MS = 10_000;
/** After this many such failures in a row the circuit breaker opens for a while. */
const OPEN_AFTER = 5;
const OPEN_MS = 5000;
/**
 * A module that answered within this time works: it fails because of what somebody sends. The circuit breaker would refuse
 * the honest senders of the same hook, so it stays closed.
 */
const WORKS_MS = 60 * 60_000;

/** How the calls of one version of a module went. It is asked whenever one of them could be handed to a worker. */
export interface Health {
  /** The module has answered before and has not failed lately: other jobs may wait behind its calls. */
  isTrusted(): boolean;
  /** It timed out, ran out of memory or crashed lately. */
  isSuspect(): boolean;
  /** While the circuit breaker is open: the answer to every call. */
  refusal(): RefusedAnswer | undefined;
  record(kind: Answer["kind"]): void;
  /** A worker ended while it ran a call of this module. That call has another attempt. */
  suspect(): void;
}

interface RefusedAnswer extends FailedAnswer {
  retryAfterMs: number;
}

export function createHealth(): Health {
  let answeredAt = -Infinity;
  let failedAt = -Infinity;
  /** Since the last answer, or since the breaker opened. */
  let failures = 0;
  let openUntil = 0;

  const isWithin = (milliseconds: number, since: number): boolean => performance.now() - since < milliseconds;
  const isSuspect = (): boolean => isWithin(SUSPECT_MS, failedAt);
  return {
    isTrusted: () => answeredAt !== -Infinity && !isSuspect(),
    isSuspect,
    refusal() {
      const retryAfterMs = openUntil - performance.now();
      if (retryAfterMs <= 0) return undefined;
      const message =
        `The circuit breaker of this transform is open for ${Math.ceil(retryAfterMs / 1000)} s: ` +
        `it timed out, ran out of memory or crashed ${OPEN_AFTER} times in a row.`;
      return { kind: "unavailable", message, log: [], retryAfterMs };
    },
    record(kind) {
      if (kind === "unavailable") return;
      if (!countsAsFailure(kind)) {
        answeredAt = performance.now();
        failures = 0;
        return;
      }
      failedAt = performance.now();
      if (++failures < OPEN_AFTER || isWithin(WORKS_MS, answeredAt)) return;
      failures = 0;
      openUntil = performance.now() + OPEN_MS;
    },
    suspect() {
      failedAt = performance.now();
    },
  };
}

/** Only what costs others: an error that the transform throws does not. */
function countsAsFailure(kind: Answer["kind"]): boolean {
  return kind === "timeout" || kind === "memory" || kind === "crashed";
}
