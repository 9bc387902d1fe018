import { messageOf } from "../../errors.ts";
import type { Log } from "../../telemetry/log.ts";
import type { SandboxStatus } from "../runner.ts";
import type { Answer, FailedAnswer } from "./child-answer.ts";
import {
  type Candidate,
  countOf,
  findCandidates,
  hasExclusive,
  type Module,
  mustRunExclusively,
  pickWorker,
  type Situation,
  takeBatch,
} from "./schedule.ts";
import { createHealth } from "./health.ts";
import type { Job, JobRequest } from "./job.ts";
import type { FindTempDir } from "./spawn.ts";
import { STUCK_MS, type WorkerExit } from "./worker.ts";
import { createWorkers, type Workers } from "./workers.ts";

/** A module's calls may fill as much of this as they leave free: half if it is alone, a third if two do, and so on. */
const MAX_WAITING = 2000;
const MAX_WAITING_MS = 10_000;
/** More versions of modules than a service uses. */
const MAX_MODULES = 1000;
const TICK_MS = 5;
/** From this number on, jobs do not wait for others. */
const MAX_GATHERED = 64;

export interface PoolOptions {
  log: Log;
  /** How many child processes. They are started at the first job. */
  children: number;
  /** Default: only the system's own places. */
  findTempDir?: FindTempDir;
}

/** Gives jobs to workers. */
export interface Pool {
  /** Starts the processes, if they are not started. */
  start(): void;
  /** Never rejects. If a worker ends, its jobs run again in another one, except for the job that ended it. */
  run(request: JobRequest): Promise<Answer>;
  /** A job that must run alone would wait: behind a call that runs long, or others that must. */
  isHeld(): boolean;
  /** `used`: the modules whose circuit breakers it lists. */
  status(used: ReadonlySet<string>): Omit<SandboxStatus, "calls" | "failures">;
  close(): Promise<void>;
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
  /** Jobs that arrived shortly one after the other are about to be handed out together. */
  isGathering: boolean;
  /** How many waited at the last step of the event loop. */
  gathered: number;
  /** Set while there are jobs. */
  ticker: NodeJS.Timeout | undefined;
  tickedAt: number;
}

export function createPool({ log, children, findTempDir }: PoolOptions): Pool {
  const state: State = {
    log,
    workers: createWorkers({
      log,
      size: children,
      findTempDir,
      onFree: () => distribute(state),
      onWorkerExit: (exit) => onWorkerExit(state, exit),
    }),
    phase: "idle",
    modules: new Map(),
    turns: new Set(),
    inFlight: 0,
    isGathering: false,
    gathered: 0,
    ticker: undefined,
    tickedAt: 0,
  };
  return {
    start: () => openOnce(state),
    run: (request) => run(state, request),
    isHeld: () => state.turns.size > 0 || state.workers.all().some((worker) => worker.isHeld()),
    status: (used) => ({
      ready: state.phase === "idle" || state.workers.all().some((worker) => worker.isReady()),
      children: state.workers.all().length,
      inFlight: state.inFlight,
      recycled: state.workers.recycled(),
      openBreakers: listOpenBreakers(state, used),
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
  if (request.operation === "call" && countOf(module) >= MAX_WAITING - countWaiting(state)) {
    return Promise.resolve(unavailable("Too many calls of this transform are waiting."));
  }
  openOnce(state);
  state.inFlight++;
  if (!state.ticker) {
    state.tickedAt = performance.now();
    // Answers that are here already are read first.
    state.ticker = setInterval(() => setImmediate(tick, state), TICK_MS);
  }
  return new Promise((resolve) => {
    const job: Job = {
      ...request,
      queuedAt: performance.now(),
      crashes: 0,
      isLong: false,
      exclusive: false,
      isProbe: false,
      limitMs: request.timeoutMs,
      settle,
    };
    function settle(answer: Answer): void {
      if (module.probe === job) module.probe = undefined;
      if (answer.kind === "timeout" && job.limitMs < job.timeoutMs) return runAgainAlone(state, module, job);
      state.inFlight--;
      // The checks of a start are made by one: another would take a processor from the compiler.
      if (request.operation === "call" || state.inFlight === 0) state.workers.startOthers();
      // At once, because the next call may be handed out before the caller goes on.
      const runMs = answer.kind === "value" ? answer.runMs : undefined;
      if (request.operation === "call") module.health.record(answer.kind, runMs);
      resolve(answer);
    }
    // A reload does not wait for the calls of the module that it checks.
    if (request.operation === "check") module.exclusive.unshift(job);
    else module.waiting.push(job);
    state.turns.add(module);
    if (!state.isGathering) setImmediate(gather, state);
    state.isGathering = true;
  });
}

function findModule(state: State, { module: name, bundle }: JobRequest): Module {
  const known = state.modules.get(name);
  if (known) return known;
  if (state.modules.size >= MAX_MODULES) forgetIdle(state);
  const { file } = bundle.spec;
  const module: Module = { file, health: createHealth(), exclusive: [], waiting: [], probe: undefined };
  state.modules.set(name, module);
  return module;
}

/** Each reload and each trial of the page can bring new versions. */
function forgetIdle({ modules, turns }: State): void {
  for (const [name, module] of modules) {
    if (!turns.has(module) && module.health.isNegligible()) modules.delete(name);
  }
}

function countWaiting({ turns }: State): number {
  let count = 0;
  for (const module of turns) count += countOf(module);
  return count;
}

function listOpenBreakers({ modules }: State, used: ReadonlySet<string>): SandboxStatus["openBreakers"] {
  return [...modules].flatMap(([name, { file, health }]) => {
    const retryAfterMs = used.has(name) ? health.untilTrial() : undefined;
    return retryAfterMs === undefined ? [] : [{ file, retryAfterMs: Math.ceil(retryAfterMs) }];
  });
}

function openOnce(state: State): void {
  if (state.phase === "idle" || state.phase === "broken") void open(state);
}

async function open(state: State): Promise<void> {
  state.phase = "open";
  try {
    await state.workers.start();
  } catch (error) {
    if (state.phase === "open") state.phase = "broken";
    state.log.error("the sandbox cannot be set up", { reason: String(error) });
    refuseAll(state, `The sandbox cannot be set up: ${messageOf(error)}.`);
  }
}

/** A job that may have ended the worker gets a second attempt: another one may have damaged the process. */
function onWorkerExit(state: State, { running, waiting, reason, isJobsFault }: WorkerExit): void {
  putBack(state, waiting);
  for (const job of running.toReversed()) {
    findModule(state, job).health.endWorker();
    if (isJobsFault || ++job.crashes > 1) job.settle(reason);
    else putBack(state, [job]);
  }
  const failure = state.phase === "closed" ? "The sandbox is closed." : state.workers.failure();
  if (failure === undefined) distribute(state);
  else refuseAll(state, failure);
}

/** Puts jobs that a worker had back to the front. */
function putBack(state: State, jobs: Job[]): void {
  for (const job of jobs.toReversed()) {
    const module = findModule(state, job);
    if (module.probe === job) module.probe = undefined;
    // The calls of a suspect are taken from the end.
    if (mustRunExclusively(job)) module.exclusive.unshift(job);
    else if (job.isProbe) module.waiting.push(job);
    else module.waiting.unshift(job);
    state.turns.add(module);
  }
}

/** After a slice that was not enough. */
function runAgainAlone(state: State, module: Module, job: Job): void {
  module.health.overrun();
  job.isLong = true;
  module.exclusive.push(job);
  state.turns.add(module);
}

/** Waking a worker costs as much as some jobs. While each step of the event loop brings more, they are handed out in the next. */
function gather(state: State): void {
  const count = countWaiting(state);
  const waits = count > state.gathered && count < MAX_GATHERED;
  state.gathered = waits ? count : 0;
  state.isGathering = waits;
  if (waits) setImmediate(gather, state);
  else distribute(state);
}

/** Hands out jobs until no worker can take the next one of any module. */
function distribute(state: State): void {
  for (const module of state.turns) {
    const refusal = module.health.refusal();
    if (refusal) refuse(state, module, refusal, (job) => job.operation === "call");
  }
  let isGiven = true;
  while (isGiven && state.turns.size > 0) isGiven = assignNext(state);
}

/** A module that failed lately comes after those that did not, so that a reload does not wait for its calls. */
function assignNext(state: State): boolean {
  const turns = [...state.turns];
  const isSuspect = ({ health }: Module): boolean => health.isSuspect();
  const ordered = [...turns.filter((module) => !isSuspect(module)), ...turns.filter(isSuspect)];
  const situation: Situation = {
    workers: state.workers.all(),
    isExclusiveWaiting: turns.some(hasExclusive),
    size: state.workers.size(),
  };
  return ordered.some((module) =>
    findCandidates(module).some((candidate) => assign(state, module, candidate, situation)),
  );
}

function assign(state: State, module: Module, candidate: Candidate, situation: Situation): boolean {
  const worker = pickWorker(candidate, situation);
  if (!worker) return false;
  const jobs = takeBatch(module, candidate, worker);
  state.turns.delete(module);
  if (countOf(module) > 0) state.turns.add(module);
  if (candidate.job.operation === "call") module.health.begin();
  worker.give(jobs);
  return true;
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
    const stuck = state.modules.get(worker.stuckOn() ?? "");
    stuck?.health.stall(STUCK_MS);
  }
  state.tickedAt = now;
  const tooLate = unavailable("The transform waited too long for its turn.");
  for (const module of state.turns) {
    refuse(
      state,
      module,
      tooLate,
      ({ queuedAt, signal }) => now - queuedAt > MAX_WAITING_MS || signal?.aborted === true,
    );
  }
  distribute(state);
  state.workers.replaceWorn();
}

function refuseAll(state: State, reason: string): void {
  for (const module of state.turns) refuse(state, module, unavailable(reason), () => true);
}

function refuse(state: State, module: Module, answer: FailedAnswer, applies: (job: Job) => boolean): void {
  const refused = [...module.exclusive, ...module.waiting].filter(applies);
  if (refused.length === 0) return;
  module.exclusive = module.exclusive.filter((job) => !applies(job));
  module.waiting = module.waiting.filter((job) => !applies(job));
  if (countOf(module) === 0) state.turns.delete(module);
  for (const job of refused) job.settle(answer);
}

function unavailable(message: string): FailedAnswer {
  return { kind: "unavailable", message, log: [] };
}
