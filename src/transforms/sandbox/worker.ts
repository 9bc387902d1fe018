import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { type FailedAnswer, parseAnswer } from "./answer.ts";
import { createJobQueue, type Job, type JobEntry, type JobQueue } from "./job.ts";
import { createMemoryGuard, type MemoryGuard } from "./memory-guard.ts";
import { connectChild, explainExit, type SendOrder } from "./pipe.ts";
import type { ModuleOptions, Progress, Report } from "./protocol.ts";

/** How long a job may exceed its own deadline, which the child itself enforces as long as it can. */
const GRACE_MS = 200;
/** The same for a job whose module has no isolate yet. */
const LOADING_GRACE_MS = 500;
/** A job that runs longer may be stuck. */
const SLOW_MS = 10;
/** The longest tick that counts: in a longer one this process itself was blocked, and the answer may be here unread. */
const MAX_TICK_MS = 50;
/** The weight of the newest job in the average duration. */
const NEWEST_WEIGHT = 0.1;
/** A worker is replaced after this many jobs. */
const MAX_JOBS = 1_000_000;
/** A child that is not ready by then never will be. */
const START_MS = 10_000;
/** A module that was not used for so long is unloaded. */
const MODULE_IDLE_MS = 10 * 60_000;

/** A sandbox process as the supervisor sees it. It executes its jobs in order. */
export interface Worker {
  /** Takes the jobs that no other job should wait behind. */
  isQuarantine: boolean;
  isReady(): boolean;
  /** The running job takes so long that the jobs behind it should go elsewhere. */
  isSlow(): boolean;
  /** No other job should be put behind the running one. */
  isHeld(): boolean;
  /** It has jobs of this module. */
  isServing(module: string): boolean;
  /** How many jobs it was given and has not answered. */
  backlog(): number;
  /** How long a new job would wait, in milliseconds, judging by the last ones. */
  expectedWait(): number;
  give(job: Job): void;
  /** Takes back the jobs that have not started. */
  takeBack(): Job[];
  /** Adds to the running job's time, and ends the process if the job exceeds a limit. */
  tick(elapsedMs: number): void;
  /** It has grown or served so much that it should be replaced. */
  isWorn(): boolean;
  /** Ends the process after the jobs it has. */
  retire(): void;
  unloadIdleModules(): void;
  kill(): void;
  /** Resolves when the process is gone. */
  readonly ended: Promise<void>;
}

/** How a worker ended, and the jobs it leaves. */
export interface WorkerExit {
  reason: FailedAnswer;
  /** The running job is certainly to blame. If not, an earlier one may have damaged the process. */
  isJobsFault: boolean;
  wasReady: boolean;
  running: Job | undefined;
  /** Jobs that had not started. */
  waiting: Job[];
}

export interface WorkerOptions {
  process: ChildProcessWithoutNullStreams;
  progress: Progress;
  quarantine: boolean;
  maxModules: number;
  /** The code of the realm. */
  realm: string;
  /** It may take more jobs than before. */
  onFree(): void;
  onExit(exit: WorkerExit): void;
}

interface State {
  options: WorkerOptions;
  send: SendOrder;
  /** When each loaded module was last used; the least recently used comes first. */
  modules: Map<string, number>;
  memory: MemoryGuard;
  queue: JobQueue;
  ready: boolean;
  retired: boolean;
  /** How many jobs it was ever given. */
  given: number;
  /** How long the running job has run or the child has been starting, in milliseconds. */
  age: number;
  /** The average duration of a job, in milliseconds. */
  averageMs: number;
  /** Why the supervisor ended the process, if it did. */
  reason: FailedAnswer | undefined;
}

export function createWorker(options: WorkerOptions): Worker {
  const child = options.process;
  const send = connectChild(child, {
    onReport: (report, text) => receive(state, report, text),
    onIdle: () => options.onFree(),
    onBroken: () => end(state, "crashed", "The sandbox process sent invalid data."),
    onClose: (stderrTail) => finish(state, stderrTail),
  });
  const state: State = {
    options,
    send,
    modules: new Map(),
    memory: createMemoryGuard(child.pid),
    queue: createJobQueue(() => options.progress.read()),
    ready: false,
    retired: false,
    given: 0,
    age: 0,
    averageMs: 0,
    reason: undefined,
  };
  return {
    isQuarantine: options.quarantine,
    isReady: () => state.ready && !state.retired && !child.killed,
    isSlow: () => state.age > SLOW_MS,
    isHeld: () => state.age > SLOW_MS || state.queue.first()?.job.alone === true,
    isServing: (module) => state.queue.has(module),
    backlog: () => state.queue.size(),
    expectedWait: () => state.queue.size() * state.averageMs,
    give: (job) => give(state, job),
    takeBack: () => takeBack(state),
    tick: (elapsedMs) => tick(state, elapsedMs),
    isWorn: () => state.given > MAX_JOBS || state.memory.isBloated(state.modules.size),
    retire: () => retire(state),
    unloadIdleModules: () => unloadSurplus(state),
    kill: () => void child.kill("SIGKILL"),
    ended: new Promise((resolve) => child.once("close", () => resolve())),
  };
}

function receive(state: State, report: Report, text: string): void {
  state.age = 0;
  if (report.kind === "ready") {
    state.ready = true;
    state.memory.begin();
    state.send({ kind: "realm" }, state.options.realm);
    return;
  }
  const { job, takenBack } = state.queue.answer(report.job);
  state.averageMs += NEWEST_WEIGHT * (report.micros / 1000 - state.averageMs);
  if (!takenBack) job.settle(parseAnswer(text, report.micros));
  if (state.retired) retire(state);
}

function retire(state: State): void {
  state.retired = true;
  if (state.queue.size() === 0) end(state, "crashed", "The sandbox process was worn out.");
}

function give(state: State, job: Job): void {
  const { operation: kind, module, timeoutMs } = job;
  // Deleting first moves the module to the end of the map, behind those used less recently.
  const isNew = !state.modules.delete(module);
  state.modules.set(module, Date.now());
  if (isNew) {
    unloadSurplus(state);
    state.send({ kind: "load", ...toModuleOptions(job) }, job.bundle.code);
  }
  const id = state.queue.add(job, isNew ? LOADING_GRACE_MS : GRACE_MS);
  state.send({ kind, job: id, module, timeoutMs }, job.text, job.body);
  state.given++;
}

function toModuleOptions({ module, bundle: { spec } }: Job): ModuleOptions {
  return { module, memoryMb: spec.memoryMb, strict: spec.isolation === "strict", export: spec.export };
}

/** Unloads modules over the limit and idle ones. The newest always stays. */
function unloadSurplus({ modules, options, send }: State): void {
  const idleSince = Date.now() - MODULE_IDLE_MS;
  for (const [module, usedAt] of modules) {
    if (usedAt >= idleSince && modules.size <= options.maxModules) return;
    modules.delete(module);
    send({ kind: "unload", module });
  }
}

function takeBack(state: State): Job[] {
  const waiting = state.queue.waiting();
  for (const entry of waiting) {
    entry.takenBack = true;
    state.send({ kind: "cancel", job: entry.id });
  }
  return waiting.map((entry) => entry.job);
}

function tick(state: State, elapsedMs: number): void {
  if (state.queue.size() === 0 && state.ready) return;
  state.age += Math.min(elapsedMs, MAX_TICK_MS);
  const running = state.queue.running();
  if (running) limitJob(state, running);
  else if (state.age > START_MS) end(state, "crashed", "The sandbox process did not start.");
}

function limitJob(state: State, { job: { timeoutMs, bundle }, graceMs }: JobEntry): void {
  const { memoryMb } = bundle.spec;
  if (state.age > timeoutMs + graceMs) {
    end(state, "timeout", `The transform ran longer than ${timeoutMs} ms and could not be interrupted.`);
  } else if (state.memory.isExceeded(state.modules.size, memoryMb)) {
    end(state, "memory", `The transform needed far more memory than its ${memoryMb} MB.`);
  }
}

function end(state: State, kind: FailedAnswer["kind"], message: string): void {
  state.reason ??= { kind, message, log: [] };
  state.options.process.kill("SIGKILL");
}

function finish({ options, queue, reason, ready }: State, stderrTail: string): void {
  const running = queue.running();
  const exit: WorkerExit = {
    reason: reason ?? explainExit(stderrTail),
    isJobsFault: reason?.kind === "timeout",
    wasReady: ready,
    running: running && !running.takenBack ? running.job : undefined,
    waiting: queue.waiting().map((entry) => entry.job),
  };
  options.progress.close();
  options.onExit(exit);
}
