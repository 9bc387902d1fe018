import type { Answer, FailedAnswer } from "./answer.ts";

/** After this many failures in a row the module's jobs run where no other job waits behind them. */
const SUSPECT_AFTER = 2;
/** After this many the circuit breaker opens for a while. */
const OPEN_AFTER = 5;
const OPEN_MS = 5000;

/**
 * A circuit breaker per module: a transform that keeps timing out or crashing would cost all the others time and a child
 * process at each call.
 */
export interface Breaker {
  isSuspect(module: string): boolean;
  /** The answer to give while the breaker is open. The first call after that is a new attempt. */
  whenOpen(module: string): FailedAnswer | undefined;
  record(module: string, answer: Answer): void;
}

interface Failures {
  /** In a row. */
  count: number;
  kind: FailedAnswer["kind"];
  openUntil: number;
}

export function createBreaker(): Breaker {
  const failures = new Map<string, Failures>();
  return {
    isSuspect: (module) => (failures.get(module)?.count ?? 0) >= SUSPECT_AFTER,
    whenOpen(module) {
      const known = failures.get(module);
      const leftMs = (known?.openUntil ?? 0) - performance.now();
      if (!known || leftMs <= 0) return undefined;
      const message =
        `The circuit breaker of this transform is open for ${Math.ceil(leftMs / 1000)} s: ` +
        `it timed out, ran out of memory or crashed ${known.count} times in a row.`;
      return { kind: known.kind, message, log: [] };
    },
    record(module, { kind }) {
      if (kind === "unavailable") return;
      if (!countsAsFailure(kind)) {
        failures.delete(module);
        return;
      }
      const count = (failures.get(module)?.count ?? 0) + 1;
      const openUntil = count < OPEN_AFTER ? 0 : performance.now() + OPEN_MS;
      failures.set(module, { count, kind, openUntil });
    },
  };
}

/** Only what costs others: an error that the transform throws does not. */
function countsAsFailure(kind: Answer["kind"]): kind is FailedAnswer["kind"] {
  return kind === "timeout" || kind === "memory" || kind === "crashed";
}
