import type { Answer, FailedAnswer } from "./answer.ts";

/** From this many on, a module is a suspect: its jobs run where nobody waits behind them. */
const SUSPECT_AFTER = 2;
/** At this many, it is fenced off for a while. */
const FENCE_AFTER = 5;
const FENCE_MS = 5000;

const HARD: readonly string[] = ["timeout", "memory", "crashed"];

/** Remembers, for each module, its hard failures in a row: those that cost others time or a whole child. */
export interface Breaker {
  isSuspect(module: string): boolean;
  /** The answer that stands for a module that is fenced off; the first call after that is a new try. */
  fence(module: string): FailedAnswer | undefined;
  record(module: string, answer: Answer): void;
}

interface Failures {
  count: number;
  fencedUntil: number;
}

export function createBreaker(): Breaker {
  const failures = new Map<string, Failures>();
  return {
    isSuspect: (module) => (failures.get(module)?.count ?? 0) >= SUSPECT_AFTER,
    fence(module) {
      const { count, fencedUntil } = failures.get(module) ?? { count: 0, fencedUntil: 0 };
      const left = fencedUntil - performance.now();
      return left > 0 ? refusal(count, left) : undefined;
    },
    record(module, answer) {
      if (answer.kind === "unavailable") return;
      const count = HARD.includes(answer.kind) ? (failures.get(module)?.count ?? 0) + 1 : 0;
      if (count === 0) failures.delete(module);
      else
        failures.set(module, { count, fencedUntil: count < FENCE_AFTER ? 0 : performance.now() + FENCE_MS });
    },
  };
}

function refusal(count: number, leftMs: number): FailedAnswer {
  const message = `The transform timed out, ran out of memory or crashed ${count} times in a row: it is fenced off for ${Math.ceil(leftMs / 1000)} s.`;
  return { kind: "unavailable", message, log: [] };
}
