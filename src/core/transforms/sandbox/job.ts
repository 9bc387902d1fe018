import type { TransformBundle } from "../runner.ts";
import type { Answer } from "./child-answer.ts";

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
  /** The answer is not wanted any more. */
  signal?: AbortSignal | undefined;
}

/** A request in the pool. */
export interface Job extends JobRequest {
  /** In milliseconds of `performance.now()`. */
  queuedAt: number;
  /** How many child processes ended on their own while they ran it. */
  crashes: number;
  /** A slice was not enough: the next time it runs alone, with its whole time. */
  isLong: boolean;
  /** Runs alone: no other job may wait behind it. Decided when it is handed to a worker, like the fields below. */
  exclusive: boolean;
  /** A call of a module that is not trusted: they are made one at a time. */
  isProbe: boolean;
  /** How long it may run this time: beside others a slice, alone `timeoutMs`. The jobs of a batch have it together. */
  limitMs: number;
  settle(answer: Answer): void;
}

const LARGE_BYTES = 16 * 1024;

function weigh({ body }: Job): number {
  return 1 + Math.floor(body.length / LARGE_BYTES);
}

/** A job given to a worker. If it is taken back, it may come again as another entry. */
export interface JobEntry {
  id: number;
  job: Job;
  takenBack: boolean;
  group: Group;
}

/** Jobs that a child was given in one order. */
interface Group {
  /** The child runs them all at once, so that nobody knows which of them takes long. */
  isBatch: boolean;
  /** How long they may exceed their deadline, in milliseconds. */
  graceMs: number;
}

/** The jobs that a worker was given and has not answered, in order. */
export interface JobQueue {
  size(): number;
  /** The same, except that a job with a large body counts as several. */
  weight(): number;
  first(): JobEntry | undefined;
  /** Whether a job of this module is running beside others or waiting. */
  has(module: string): boolean;
  /** Gives the id of the first: 1, 2, 3, … */
  add(jobs: Job[], graceMs: number): number;
  /** Removes the first `count` entries; throws if the first has another id, or if there are fewer. */
  answer(id: number, count: number): JobEntry[];
  /** The jobs of the first entry's group run one after the other; throws if the first has another id. */
  split(id: number): void;
  /** The first entry, and the rest of its batch. */
  running(): JobEntry[];
  /** All but the running ones and those taken back. */
  waiting(): JobEntry[];
}

export function createJobQueue(): JobQueue {
  const entries: JobEntry[] = [];
  let lastId = 0;
  let weight = 0;

  return {
    size: () => entries.length,
    weight: () => weight,
    first: () => entries[0],
    has: (module) => entries.some(({ job, takenBack }) => !takenBack && !job.exclusive && job.module === module),
    add(jobs, graceMs) {
      const group = { isBatch: jobs.length > 1, graceMs };
      const id = lastId + 1;
      for (const job of jobs) {
        entries.push({ id: ++lastId, job, takenBack: false, group });
        weight += weigh(job);
      }
      return id;
    },
    answer(id, count) {
      requireFirst(id);
      if (!(count >= 1 && count <= entries.length)) throw new Error("More jobs were answered than given.");
      const answered = entries.splice(0, count);
      for (const { job } of answered) weight -= weigh(job);
      return answered;
    },
    split(id) {
      requireFirst(id).group.isBatch = false;
    },
    running: () => entries.slice(0, countRunning()),
    waiting: () => entries.slice(countRunning()).filter(({ takenBack }) => !takenBack),
  };

  function requireFirst(id: number): JobEntry {
    const [first] = entries;
    if (first?.id !== id) throw new Error("An answer came out of order.");
    return first;
  }

  function countRunning(): number {
    const group = entries[0]?.group;
    if (!group?.isBatch) return Math.min(1, entries.length);
    const next = entries.findIndex((entry) => entry.group !== group);
    return next === -1 ? entries.length : next;
  }
}
