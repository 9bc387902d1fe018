import { readFileSync } from "node:fs";

/** Most jobs end before: until then, no file is read. */
const EXACT_FROM_MS = 10;
/** The longest tick that counts: in a longer one this process itself was blocked, and the answer may be here unread. */
const MAX_TICK_MS = 50;
/** The share of a tick that counts at least: a child that waits for something else than a CPU shall end too. */
const MIN_SHARE = 0.1;

/**
 * How long a child has worked on its job. Only Linux reports how long it had a CPU; elsewhere all time counts. On a busy
 * machine a child waits for a CPU, and a harmless job would look as if it were stuck.
 */
export interface JobClock {
  /** In milliseconds. */
  age(): number;
  /** The next job begins. */
  restart(): void;
  advance(elapsedMs: number): void;
}

export function createJobClock(pid: number | undefined): JobClock {
  let age = 0;
  /** What the child had used at the last tick, once that is read. */
  let cpuMs: number | undefined;

  return {
    age: () => age,
    restart() {
      age = 0;
      cpuMs = undefined;
    },
    advance(elapsedMs) {
      const tickMs = Math.min(elapsedMs, MAX_TICK_MS);
      const isExact = age + tickMs > EXACT_FROM_MS;
      const now = isExact ? readCpuMs(pid) : undefined;
      if (now === undefined) age += tickMs;
      else if (cpuMs === undefined) age = Math.max(age, EXACT_FROM_MS) + 1;
      else age += Math.min(tickMs, Math.max(now - cpuMs, MIN_SHARE * tickMs));
      cpuMs = now;
    },
  };
}

/** Of the thread that runs the jobs. */
function readCpuMs(pid: number | undefined): number | undefined {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[0]) / 1e6;
  } catch {
    return undefined;
  }
}
