import type { Log } from "../../telemetry/log.ts";
import type { Answer, FailedAnswer } from "./answer.ts";
import type { Job, JobRequest, Trust } from "./job.ts";
import type { Worker, WorkerExit } from "./worker.ts";
import { createWorkers, type Workers } from "./workers.ts";

const MAX_WAITING = 1000;
const MAX_WAITING_MS = 10_000;
const TICK_MS = 5;

export interface PoolOptions {
  log: Log;
  /** How many child processes. They are started at the first job. */
  children: number;
}

/** Gives jobs to workers. */
export interface Pool {
  /** Never rejects. If a worker ends, its jobs run again in another one, except for the job that ended it. */
  run(request: JobRequest): Promise<Answer>;
  status(): { ready: boolean; children: number; inFlight: number; recycled: number };
  close(): Promise<void>;
}

interface State {
  log: Log;
  workers: Workers;
  /** broken: the processes could not be prepared; the next job tries again. */
  phase: "idle" | "open" | "broken" | "closed";
  waiting: Job[];
  inFlight: number;
  /** Set while there are jobs. */
  ticker: NodeJS.Timeout | undefined;
  tickedAt: number;
}

export function createPool({ log, children }: PoolOptions): Pool {
  const state: State = {
    log,
    workers: createWorkers({
      log,
      size: children,
      onFree: () => distribute(state),
      onWorkerExit: (exit) => onWorkerExit(state, exit),
    }),
    phase: "idle",
    waiting: [],
    inFlight: 0,
    ticker: undefined,
    tickedAt: 0,
  };
  return {
    run: (request) => run(state, request),
    status: () => ({
      ready: state.phase === "idle" || state.workers.ready().length > 0,
      children: state.workers.all().length,
      inFlight: state.inFlight,
      recycled: state.workers.recycled(),
    }),
    async close() {
      state.phase = "closed";
      refuse(state, "The sandbox is closed.");
      await state.workers.close();
    },
  };
}

async function run(state: State, request: JobRequest): Promise<Answer> {
  if (state.phase === "closed") return unavailable("The sandbox is closed.");
  if (state.waiting.length >= MAX_WAITING) return unavailable("Too many transforms are waiting.");
  if (state.phase !== "open") void open(state);
  if (state.inFlight++ === 0) {
    state.tickedAt = performance.now();
    state.ticker = setInterval(() => tick(state), TICK_MS);
  }
  const answer = await new Promise<Answer>((settle) => {
    state.waiting.push({ ...request, queuedAt: performance.now(), crashes: 0, settle });
    distribute(state);
  });
  if (--state.inFlight === 0) clearInterval(state.ticker);
  return answer;
}

async function open(state: State): Promise<void> {
  state.phase = "open";
  try {
    await state.workers.start();
  } catch (error) {
    if (state.phase === "open") state.phase = "broken";
    state.log.error("the sandbox cannot be set up", { reason: String(error) });
    refuse(state, "The sandbox cannot be set up.");
  }
}

/** The job that may have ended the worker gets a second attempt: an earlier one may have damaged the process. */
function onWorkerExit(state: State, { running, waiting, reason, isJobsFault }: WorkerExit): void {
  state.waiting.unshift(...waiting);
  if (running && (isJobsFault || ++running.crashes > 1)) running.settle(reason);
  else if (running) state.waiting.unshift({ ...running, trust: "suspect" });
  if (state.phase === "closed") refuse(state, "The sandbox is closed.");
  else distribute(state);
}

function distribute(state: State): void {
  if (state.waiting.length === 0) return;
  const ready = state.workers.ready();
  const waitingTrusts = new Set(state.waiting.map((job) => job.trust));
  state.waiting = state.waiting.filter((job) => {
    const worker = pickWorker(ready, job, waitingTrusts);
    worker?.give(job);
    return worker === undefined;
  });
}

function tick(state: State): void {
  const now = performance.now();
  for (const worker of state.workers.all()) {
    worker.tick(now - state.tickedAt);
    if (worker.isSlow()) state.waiting.unshift(...worker.takeBack());
  }
  state.tickedAt = now;
  refuse(state, "The transform waited too long for its turn.", (job) => now - job.queuedAt > MAX_WAITING_MS);
  distribute(state);
  state.workers.replaceWorn();
}

function refuse(state: State, reason: string, applies: (job: Job) => boolean = () => true): void {
  const refused = state.waiting.filter(applies);
  if (refused.length === 0) return;
  state.waiting = state.waiting.filter((job) => !applies(job));
  for (const job of refused) job.settle(unavailable(reason));
}

function unavailable(message: string): FailedAnswer {
  return { kind: "unavailable", message, log: [] };
}

/** Jobs given to a worker in advance, so that it never waits for the pipe. */
const MAX_BACKLOG = 16;
/** Below this, moving a job elsewhere gains nothing, and jobs that go together cost less. */
const SHORT_WAIT_MS = 2;

/**
 * The worker that can take the job now, if any. A job that is not proven goes to the quarantine, and only while that is
 * empty; while such a job waits, proven ones keep away from it. Proven jobs go to the first worker with a short wait, else
 * to the one with the shortest: as long as one worker is enough, the other stays empty as a spare.
 */
export function pickWorker(ready: Worker[], job: Job, waitingTrusts: ReadonlySet<Trust>): Worker | undefined {
  if (job.trust === "suspect" && waitingTrusts.has("untried")) return undefined;
  if (job.trust !== "proven") return ready.find((worker) => worker.isQuarantine && worker.backlog() === 0);
  const isQuarantineNeeded = ready.length > 1 && (waitingTrusts.has("untried") || waitingTrusts.has("suspect"));
  const available = ready.filter(
    (worker) => !worker.isHeld() && worker.backlog() < MAX_BACKLOG && !(isQuarantineNeeded && worker.isQuarantine),
  );
  return available.find((worker) => worker.expectedWait() < SHORT_WAIT_MS) ?? findShortestWait(available);
}

function findShortestWait(workers: Worker[]): Worker | undefined {
  return workers.reduce<Worker | undefined>(
    (best, worker) => (best && best.expectedWait() <= worker.expectedWait() ? best : worker),
    undefined,
  );
}
