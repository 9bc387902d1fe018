import type { Health } from "./health.ts";
import type { Job } from "./job.ts";
import type { Worker } from "./worker.ts";

/** Jobs given to a worker in advance, so that it never waits for the pipe. */
const MAX_BACKLOG = 64;
/** The bodies of calls in a batch: for larger ones, a separate order costs little. */
const MAX_BATCH_BYTES = 256 * 1024;
/** Below this, moving a job elsewhere gains nothing, and a batch costs less. */
const SHORT_WAIT_MS = 2;

/** One version of a module. */
export interface Module {
  file: string;
  health: Health;
  /** Checks, and calls that have to run alone because of what an earlier attempt showed. */
  exclusive: Job[];
  /** The other calls. */
  waiting: Job[];
  /** The call that a worker has while the module is not trusted; there is one at a time. */
  probe: Job | undefined;
}

export function countOf({ exclusive, waiting }: Module): number {
  return exclusive.length + waiting.length;
}

/** A job that must run alone waits. */
export function hasExclusive({ exclusive, waiting, health }: Module): boolean {
  return exclusive.length > 0 || (waiting.length > 0 && health.needsQuarantine());
}

/** Because of what it is, or of what an earlier attempt showed. */
export function mustRunExclusively({ operation, crashes, isLong }: Job): boolean {
  return operation === "check" || crashes > 0 || isLong;
}

/** How a job would run if it were handed to a worker now. */
export interface Candidate extends Pick<Job, "exclusive" | "isProbe" | "limitMs"> {
  job: Job;
}

/**
 * Jobs that could be handed out now: one that must run alone, and another one, which does not wait for it. Changes
 * nothing.
 */
export function findCandidates({ health, exclusive, waiting, probe }: Module): Candidate[] {
  const found: Candidate[] = [];
  const [first] = exclusive;
  if (first) found.push({ job: first, exclusive: true, isProbe: false, limitMs: first.timeoutMs });
  // In a burst of bad calls to a suspect, a good one that comes later does not wait for all of them.
  const job = health.isSuspect() ? waiting.at(-1) : waiting[0];
  if (!job) return found;
  const isQuarantined = health.needsQuarantine();
  const isProbe = !isQuarantined && !health.isTrusted();
  if (isProbe && (probe || !health.isProbeDue())) return found;
  const limitMs = isQuarantined ? job.timeoutMs : Math.min(job.timeoutMs, health.sliceMs());
  return [...found, { job, exclusive: isQuarantined, isProbe, limitMs }];
}

/** Removes the candidate from the waiting jobs, with those behind it that can be in a batch with it, to run as it says. */
export function takeBatch(module: Module, candidate: Candidate, worker: Worker): Job[] {
  const { job, ...terms } = candidate;
  const { exclusive, waiting } = module;
  const jobs =
    job === exclusive[0]
      ? exclusive.splice(0, 1)
      : waiting.splice(waiting.indexOf(job), countBatch(module, candidate, worker));
  if (terms.isProbe) module.probe = job;
  for (const taken of jobs) Object.assign(taken, terms);
  return jobs;
}

function countBatch({ waiting, health }: Module, { job, exclusive, isProbe }: Candidate, worker: Worker): number {
  const isSingle = exclusive || isProbe || job.bundle.spec.isolation === "strict";
  if (isSingle) return 1;
  const maxJobs = Math.min(MAX_BACKLOG - worker.backlog(), health.maxBatch());
  const start = waiting.indexOf(job);
  let count = 1;
  for (let bytes = job.body.length; count < maxJobs; count++) {
    const next = waiting[start + count];
    bytes += next?.body.length ?? 0;
    if (next?.timeoutMs !== job.timeoutMs || bytes > MAX_BATCH_BYTES) break;
  }
  return count;
}

/** The state of the pool, which also decides where a job goes. */
export interface Situation {
  workers: Worker[];
  /** How many workers there are, with those that are about to be replaced. */
  size: number;
  /** A job that must run alone is waiting. */
  isExclusiveWaiting: boolean;
}

/**
 * The worker that can take the job now, if any. The slices of one module never hold all workers. A job that must run alone
 * goes to the quarantine, only while that is empty and another worker serves the rest; others keep away from the
 * quarantine then. They go to the first worker with a short wait, else to the one with the shortest: as long as one is
 * enough, the other stays empty as a spare.
 */
export function pickWorker(
  { job, exclusive }: Candidate,
  { workers, size, isExclusiveWaiting }: Situation,
): Worker | undefined {
  const ready = workers.filter((worker) => worker.isReady());
  const canRunAlone = size === 1 || workers.some((worker) => !worker.isQuarantine && isAvailable(worker));
  if (exclusive) return ready.find((worker) => canRunAlone && worker.isQuarantine && worker.backlog() === 0);
  const keepsAway = isExclusiveWaiting && canRunAlone && size > 1;
  const serving = ready.filter((worker) => worker.isServing(job.module));
  const hasItsShare = serving.length >= Math.max(1, size - 1);
  const available = (hasItsShare ? serving : ready).filter(
    (worker) => isAvailable(worker) && worker.backlog() < MAX_BACKLOG && !(keepsAway && worker.isQuarantine),
  );
  return available.find((worker) => worker.expectedWait() < SHORT_WAIT_MS) ?? findShortestWait(available);
}

/** A job that is given to it now does not wait behind one that holds it. */
function isAvailable(worker: Worker): boolean {
  return worker.isReady() && !worker.isHeld();
}

function findShortestWait(workers: Worker[]): Worker | undefined {
  return workers.reduce<Worker | undefined>(
    (best, worker) => (best && best.expectedWait() <= worker.expectedWait() ? best : worker),
    undefined,
  );
}
