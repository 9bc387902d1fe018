import type { Health } from "./health.ts";
import type { Job } from "./job.ts";
import type { Worker } from "./worker.ts";

/** Jobs given to a worker in advance, so that it never waits for the pipe. */
const MAX_BACKLOG = 64;
/** The bodies of calls in a batch: for larger ones, an order of their own costs little. */
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

/** What could be handed out now, and how it would run: a job that must run alone, and another one, which does not wait for it. */
export function findNext(module: Module): Job[] {
  const { health, exclusive, waiting } = module;
  const found: Job[] = [];
  const [first] = exclusive;
  if (first) found.push(Object.assign(first, { exclusive: true, isProbe: false, limitMs: first.timeoutMs }));
  // In a burst of bad calls to a suspect, a good one that comes later does not wait for all of them.
  const next = health.isSuspect() ? waiting.at(-1) : waiting[0];
  if (!next) return found;
  const isQuarantined = health.needsQuarantine();
  const isProbe = !isQuarantined && !health.isTrusted();
  if (isProbe && (module.probe || !health.isProbeDue())) return found;
  const limitMs = isQuarantined ? next.timeoutMs : Math.min(next.timeoutMs, health.sliceMs());
  return [...found, Object.assign(next, { exclusive: isQuarantined, isProbe, limitMs })];
}

/** Removes a job from those waiting, with those behind it that can be in a batch with it. */
export function takeBatch(module: Module, job: Job, worker: Worker): Job[] {
  const { exclusive, waiting, health } = module;
  if (job === exclusive[0]) return exclusive.splice(0, 1);
  if (job.isProbe) module.probe = job;
  const start = waiting.indexOf(job);
  const isSingle = job.exclusive || job.isProbe || job.bundle.spec.isolation === "strict";
  const maxJobs = isSingle ? 1 : Math.min(MAX_BACKLOG - worker.backlog(), health.maxBatch());
  let end = start + 1;
  for (let bytes = job.body.length; end < waiting.length && end - start < maxJobs; end++) {
    const next = waiting[end]!;
    bytes += next.body.length;
    if (next.timeoutMs !== job.timeoutMs || bytes > MAX_BATCH_BYTES) break;
    Object.assign(next, { exclusive: false, isProbe: false, limitMs: job.limitMs });
  }
  return waiting.splice(start, end - start);
}

/** What else decides where a job goes. */
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
export function pickWorker(job: Job, { workers, size, isExclusiveWaiting }: Situation): Worker | undefined {
  const ready = workers.filter((worker) => worker.isReady());
  const canRunAlone = size === 1 || workers.some((worker) => !worker.isQuarantine && isAvailable(worker));
  if (job.exclusive) return ready.find((worker) => canRunAlone && worker.isQuarantine && worker.backlog() === 0);
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
