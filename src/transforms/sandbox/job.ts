import type { TransformBundle } from "../runner.ts";
import type { Answer } from "./answer.ts";

/** One check or call. */
export interface JobRequest {
  operation: "check" | "call";
  bundle: TransformBundle;
  /** Identifies the version of the module with its limits: what a child keeps an isolate for. */
  module: string;
  /** The input as JSON. */
  text: string;
  body: Buffer;
  timeoutMs: number;
}

/** A request in the pool. */
export interface Job extends JobRequest {
  /** In milliseconds of `performance.now()`. */
  queuedAt: number;
  /** How many child processes ended on their own while they ran it. */
  crashes: number;
  /** No other job may wait behind it. Decided when it is handed to a worker. */
  alone: boolean;
  settle(answer: Answer): void;
}

/** A job given to a worker. If it is taken back, it may come again as another entry. */
export interface JobEntry {
  id: number;
  job: Job;
  /** How long it may exceed its own deadline, in milliseconds. */
  graceMs: number;
  takenBack: boolean;
}

/** The jobs that a worker was given and has not answered, in order. */
export interface JobQueue {
  size(): number;
  first(): JobEntry | undefined;
  /** Whether a job of this module is running or waiting. */
  has(module: string): boolean;
  /** Gives the id of the new entry: 1, 2, 3, … */
  add(job: Job, graceMs: number): number;
  /** Removes the first entry; throws if it has another id. */
  answer(id: number): JobEntry;
  running(): JobEntry | undefined;
  /** All but the running one and those taken back. */
  waiting(): JobEntry[];
}

/** `readProgress` gives the id that the child has noted. */
export function createJobQueue(readProgress: () => number): JobQueue {
  const entries: JobEntry[] = [];
  let lastId = 0;

  return {
    size: () => entries.length,
    first: () => entries[0],
    has: (module) => entries.some(({ job, takenBack }) => !takenBack && job.module === module),
    add(job, graceMs) {
      entries.push({ id: ++lastId, job, graceMs, takenBack: false });
      return lastId;
    },
    answer(id) {
      const entry = entries.shift();
      if (entry?.id !== id) throw new Error("An answer came out of order.");
      return entry;
    },
    running: findRunning,
    waiting() {
      const running = findRunning();
      return entries.filter((entry) => entry !== running && !entry.takenBack);
    },
  };

  /** The child notes nothing while it has no unsent answers, because then it runs the first one. */
  function findRunning(): JobEntry | undefined {
    if (entries.length < 2) return entries[0];
    const noted = readProgress();
    return entries.find(({ id }) => id === noted) ?? entries[0];
  }
}
