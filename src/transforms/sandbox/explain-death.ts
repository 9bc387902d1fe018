import type { FailedAnswer } from "./answer.ts";

/** What the last words of a process tell of its end. V8 says so where it ran out of memory. */
export function explainDeath(stderr: string): FailedAnswer {
  return /out of memory|allocation failed|bad_alloc/i.test(stderr)
    ? { kind: "memory", message: "The transform needed more memory than it may have.", log: [] }
    : { kind: "crashed", message: "The sandbox process ended while the transform ran.", log: [] };
}
