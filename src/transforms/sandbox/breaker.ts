import type { Answer, FailedAnswer } from "./answer.ts";

/** From this many on, a module is a suspect: its jobs run where nobody waits behind them. */
const SUSPECT_AFTER = 2;
/** At this many, it is fenced off for a while. */
const FENCE_AFTER = 5;
const FENCE_MS = 5000;

/** Remembers, for each module, its hard failures in a row: those that cost others time or a whole child. */
export interface Breaker {
  isSuspect(module: string): boolean;
  /** The answer that stands for a module that is fenced off; the first call after that is a new try. */
  fence(module: string): FailedAnswer | undefined;
  record(module: string, answer: Answer): void;
}

interface Failures {
  count: number;
  /** The kind of the last one. */
  kind: FailedAnswer["kind"];
  fencedUntil: number;
}

export function createBreaker(): Breaker {
  const failures = new Map<string, Failures>();
  return {
    isSuspect: (module) => (failures.get(module)?.count ?? 0) >= SUSPECT_AFTER,
    fence(module) {
      const known = failures.get(module);
      const leftMs = (known?.fencedUntil ?? 0) - performance.now();
      return known && leftMs > 0 ? refuse(known, leftMs) : undefined;
    },
    record(module, { kind }) {
      if (kind === "unavailable") return;
      if (!isHard(kind)) failures.delete(module);
      else failures.set(module, countUp(failures.get(module), kind));
    },
  };
}

function isHard(kind: Answer["kind"]): kind is FailedAnswer["kind"] {
  return kind === "timeout" || kind === "memory" || kind === "crashed";
}

function countUp(known: Failures | undefined, kind: FailedAnswer["kind"]): Failures {
  const count = (known?.count ?? 0) + 1;
  return { count, kind, fencedUntil: count < FENCE_AFTER ? 0 : performance.now() + FENCE_MS };
}

function refuse({ count, kind }: Failures, leftMs: number): FailedAnswer {
  const seconds = Math.ceil(leftMs / 1000);
  const message = `The transform is fenced off for ${seconds} s: it timed out, ran out of memory or crashed ${count} times in a row.`;
  return { kind, message, log: [] };
}
