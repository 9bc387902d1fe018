import type { Log } from "../../telemetry/log.ts";
import type { SandboxStatus } from "../runner.ts";
import type { Answer, FailedAnswer } from "./answer.ts";
import { createHealth, type Health } from "./health.ts";
import type { Job, JobRequest } from "./job.ts";
import type { Worker, WorkerExit } from "./worker.ts";
import { createWorkers, type Workers } from "./workers.ts";

/** A module's calls may fill as much of this as they leave free: half if it is alone, a third if two do, and so on. */
const MAX_WAITING = 2000;
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
  status(): Omit<SandboxStatus, "calls" | "failures">;
  close(): Promise<void>;
}

/** One version of a module. */
interface Module {
  file: string;
  health: Health;
  waiting: Job[];
}

interface State {
  log: Log;
  workers: Workers;
  /** broken: the processes could not be prepared; the next job tries again. */
  phase: "idle" | "open" | "broken" | "closed";
  modules: Map<string, Module>;
  /** The modules with waiting jobs; they take turns, and the first is next. */
  turns: Set<Module>;
  inFlight: number;
  /** Jobs that arrive in one step of the event loop are handed out together. */
  isDistributing: boolean;
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
    modules: new Map(),
    turns: new Set(),
    inFlight: 0,
    isDistributing: false,
    ticker: undefined,
    tickedAt: 0,
  };
  return {
    run: (request) => run(state, request),
    status: () => ({
      ready: state.phase === "idle" || state.workers.all().some((worker) => worker.isReady()),
      children: state.workers.all().length,
      inFlight: state.inFlight,
      recycled: state.workers.recycled(),
      openBreakers: listOpenBreakers(state),
    }),
    async close() {
      state.phase = "closed";
      refuseAll(state, "The sandbox is closed.");
      await state.workers.close();
    },
  };
}

function run(state: State, request: JobRequest): Promise<Answer> {
  const module = findModule(state, request);
  if (state.phase === "closed") return Promise.resolve(unavailable("The sandbox is closed."));
  if (request.operation === "call" && module.waiting.length >= MAX_WAITING - countWaiting(state)) {
    return Promise.resolve(unavailable("Too many calls of this transform are waiting."));
  }
  if (state.phase !== "open") void open(state);
  state.inFlight++;
  if (!state.ticker) {
    state.tickedAt = performance.now();
    // Answers that are here already are read first.
    state.ticker = setInterval(() => setImmediate(tick, state), TICK_MS);
  }
  return new Promise((resolve) => {
    const job: Job = { ...request, queuedAt: performance.now(), crashes: 0, alone: false, settle };
    function settle(answer: Answer): void {
      state.inFlight--;
      // At once, because the next call may be handed out before the caller goes on.
      const runMs = answer.kind === "value" ? answer.runMs : undefined;
      if (request.operation === "call") module.health.record(answer.kind, runMs);
      resolve(answer);
    }
    // A reload does not wait for the calls of the module that it checks.
    if (request.operation === "check") module.waiting.unshift(job);
    else module.waiting.push(job);
    state.turns.add(module);
    if (!state.isDistributing) setImmediate(distribute, state);
    state.isDistributing = true;
  });
}

function findModule(state: State, { module: name, bundle }: JobRequest): Module {
  const module = state.modules.get(name) ?? { file: bundle.spec.file, health: createHealth(), waiting: [] };
  state.modules.set(name, module);
  return module;
}

function countWaiting({ turns }: State): number {
  let count = 0;
  for (const { waiting } of turns) count += waiting.length;
  return count;
}

function listOpenBreakers({ modules }: State): SandboxStatus["openBreakers"] {
  return [...modules.values()].flatMap(({ file, health }) => {
    const retryAfterMs = health.untilTrial();
    return retryAfterMs === undefined ? [] : [{ file, retryAfterMs: Math.ceil(retryAfterMs) }];
  });
}

async function open(state: State): Promise<void> {
  state.phase = "open";
  try {
    await state.workers.start();
  } catch (error) {
    if (state.phase === "open") state.phase = "broken";
    state.log.error("the sandbox cannot be set up", { reason: String(error) });
    refuseAll(state, "The sandbox cannot be set up.");
  }
}

/** A job that may have ended the worker gets a second attempt: another one may have damaged the process. */
function onWorkerExit(state: State, { running, waiting, reason, isJobsFault }: WorkerExit): void {
  putBack(state, waiting);
  for (const job of running.toReversed()) {
    if (isJobsFault || ++job.crashes > 1) {
      job.settle(reason);
    } else {
      findModule(state, job).health.suspect();
      putBack(state, [job]);
    }
  }
  if (state.phase === "closed") refuseAll(state, "The sandbox is closed.");
  else distribute(state);
}

/** Puts jobs that a worker had back to the front. */
function putBack(state: State, jobs: Job[]): void {
  for (const job of jobs.toReversed()) {
    const module = findModule(state, job);
    module.waiting.unshift(job);
    state.turns.add(module);
  }
}

/** Hands out jobs until no worker can take the next one of any module. */
function distribute(state: State): void {
  state.isDistributing = false;
  for (const module of state.turns) {
    const refusal = module.health.refusal();
    if (refusal) refuse(state, module, refusal, (job) => job.operation === "call");
  }
  let isGiven = true;
  while (isGiven && state.turns.size > 0) isGiven = handOutNext(state);
}

/** A module that failed lately comes after those that did not, so that a reload does not wait for its calls. */
function handOutNext(state: State): boolean {
  const turns = [...state.turns].toSorted((a, b) => Number(a.health.isSuspect()) - Number(b.health.isSuspect()));
  const candidates = turns.flatMap((module) => findNext(module).map((job) => ({ module, job })));
  for (const { module, job } of candidates) job.alone = mustRunAlone(job, module.health);
  const situation: Situation = {
    workers: state.workers.all(),
    isLoneWaiting: candidates.some(({ job }) => job.alone),
    size: state.workers.size(),
  };
  for (const { module, job } of candidates) {
    const worker = pickWorker(job, situation);
    if (!worker) continue;
    const jobs = takeTogether(module, job, MAX_BACKLOG - worker.backlog());
    state.turns.delete(module);
    if (module.waiting.length > 0) state.turns.add(module);
    if (job.operation === "call") module.health.begin();
    worker.give(jobs);
    return true;
  }
  return false;
}

/** Removes a job from those waiting, with those behind it that can run together with it. */
function takeTogether({ waiting, health }: Module, job: Job, room: number): Job[] {
  const start = waiting.indexOf(job);
  const mostJobs = job.alone || job.bundle.spec.isolation === "strict" ? 1 : Math.min(room, health.mostTogether());
  let end = start + 1;
  for (let bytes = job.body.length; end < waiting.length && end - start < mostJobs; end++) {
    const next = waiting[end]!;
    bytes += next.body.length;
    if (next.crashes > 0 || next.timeoutMs !== job.timeoutMs || bytes > MAX_BYTES_TOGETHER) break;
  }
  return waiting.splice(start, end - start);
}

/** The first job, and the first call if that is a check: calls do not wait for a check that cannot run yet. */
function findNext({ waiting }: Module): Job[] {
  const [first] = waiting;
  if (!first) return [];
  const call = first.operation === "check" ? waiting.find(({ operation }) => operation === "call") : undefined;
  return call ? [first, call] : [first];
}

function mustRunAlone({ operation, crashes }: Job, health: Health): boolean {
  return operation === "check" || crashes > 0 || !health.isTrusted();
}

function tick(state: State): void {
  const now = performance.now();
  if (state.inFlight === 0) {
    clearInterval(state.ticker);
    state.ticker = undefined;
    return;
  }
  for (const worker of state.workers.all()) {
    worker.tick(now - state.tickedAt);
    if (worker.isSlow()) putBack(state, worker.takeBack());
  }
  state.tickedAt = now;
  const tooLate = unavailable("The transform waited too long for its turn.");
  for (const module of state.turns) refuse(state, module, tooLate, (job) => now - job.queuedAt > MAX_WAITING_MS);
  distribute(state);
  state.workers.replaceWorn();
}

function refuseAll(state: State, reason: string): void {
  for (const module of state.turns) refuse(state, module, unavailable(reason), () => true);
}

function refuse(state: State, module: Module, answer: FailedAnswer, applies: (job: Job) => boolean): void {
  const refused = module.waiting.filter(applies);
  if (refused.length === 0) return;
  module.waiting = module.waiting.filter((job) => !applies(job));
  if (module.waiting.length === 0) state.turns.delete(module);
  for (const job of refused) job.settle(answer);
}

function unavailable(message: string): FailedAnswer {
  return { kind: "unavailable", message, log: [] };
}

/** Jobs given to a worker in advance, so that it never waits for the pipe. */
const MAX_BACKLOG = 64;
/** The bodies of calls that are made together: for larger ones, an order of their own costs little. */
const MAX_BYTES_TOGETHER = 64 * 1024;
/** Below this, moving a job elsewhere gains nothing, and jobs that go together cost less. */
const SHORT_WAIT_MS = 2;

/** What else decides where a job goes. */
export interface Situation {
  workers: Worker[];
  /** How many workers there are, with those that are about to be replaced. */
  size: number;
  /** A job that must run alone is waiting. */
  isLoneWaiting: boolean;
}

/**
 * The worker that can take the job now, if any. One module never has all workers. A job that must run alone goes to the
 * quarantine, only while that is empty and another worker serves the rest; others keep away from the quarantine then. They
 * go to the first worker with a short wait, else to the one with the shortest: as long as one is enough, the other stays
 * empty as a spare.
 */
export function pickWorker(job: Job, { workers, size, isLoneWaiting }: Situation): Worker | undefined {
  const serving = workers.filter((worker) => worker.isServing(job.module));
  const hasItsShare = serving.length >= Math.max(1, size - 1);
  const ready = (hasItsShare ? serving : workers).filter((worker) => worker.isReady());
  const canRunAlone = size === 1 || workers.some((worker) => !worker.isQuarantine && isAvailable(worker));
  if (job.alone) return ready.find((worker) => canRunAlone && worker.isQuarantine && worker.backlog() === 0);
  const keepsAway = isLoneWaiting && canRunAlone && size > 1;
  const available = ready.filter(
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
