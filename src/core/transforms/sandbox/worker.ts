import type { ChildProcessWithoutNullStreams } from "node:child_process";
import type { PackagesCode } from "../code-cache.ts";
import { type FailedAnswer, parseAnswers } from "./child-answer.ts";
import { createJobClock, createMemoryGuard, type JobClock, type MemoryGuard } from "./child-usage.ts";
import { createJobQueue, type Job, type JobQueue } from "./job.ts";
import { type ChildEnd, connectChild, explainExit, type Report, type SendOrder } from "./protocol.ts";

/** How long a job may exceed its own deadline, which the child itself enforces as long as it can. */
const GRACE_MS = 200;
/** The same for a job whose module has no isolate yet. */
const LOADING_GRACE_MS = 500;
/** A job that runs longer may be stuck, so those of other modules go elsewhere. */
const SLOW_MS = 10;
/** A job that runs longer is probably stuck. */
export const STUCK_MS = 100;
/** The weight of the newest job in the average duration. */
const NEWEST_WEIGHT = 0.1;
/** A worker is replaced after this many jobs. */
const MAX_JOBS = 1_000_000;
/** A child that is not ready by then never will be. */
const START_MS = 10_000;
/** A module that was not used for this long is unloaded. */
const MODULE_IDLE_MS = 10 * 60_000;

/** A sandbox process as the supervisor sees it. It executes its jobs in order. */
export interface Worker {
  /** Takes the jobs that no other job should wait behind. */
  isQuarantine: boolean;
  isReady(): boolean;
  /** The running job takes so long that the jobs behind it should go elsewhere. */
  isSlow(): boolean;
  /** The module whose job runs so long that it is probably stuck. */
  stuckOn(): string | undefined;
  /** No other job should be put behind the running one. */
  isHeld(): boolean;
  /** Jobs of this module run beside others in it. */
  isServing(module: string): boolean;
  /** How many jobs it was given and has not answered; one with a large body counts as several. */
  backlog(): number;
  /** How long a new job would wait, in milliseconds, judging by the last ones. */
  expectedWait(): number;
  /** Jobs of one module; several are a batch of calls. */
  give(jobs: Job[]): void;
  /** Takes back the jobs that should go elsewhere and have not started. */
  takeBack(): Job[];
  /** Adds to the running job's time, and ends the process if the job exceeds a limit. */
  tick(elapsedMs: number): void;
  /** Due for replacement: it has grown or served too much. */
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
  /** Several if they were a batch: any of them may be to blame. */
  running: Job[];
  /** Jobs that had not started. */
  waiting: Job[];
}

export interface WorkerOptions {
  process: ChildProcessWithoutNullStreams;
  quarantine: boolean;
  maxModules: number;
  /** The code of the realm. */
  realm: string;
  /** The prefix of a command that changes the process from outside. */
  asUser: string[];
  /** Called once it takes jobs. */
  onReady(): void;
  /** Called when it may take more jobs than before. */
  onFree(): void;
  onExit(exit: WorkerExit): void;
}

interface State {
  options: WorkerOptions;
  send: SendOrder;
  /** When each loaded module was last used; the least recently used comes first. */
  modules: Map<string, number>;
  /** The modules that have each code of packages. */
  packages: Map<string, Set<string>>;
  memory: MemoryGuard;
  queue: JobQueue;
  ready: boolean;
  retired: boolean;
  /** How many jobs it was ever given. */
  given: number;
  /** Measures how long the running job or the start has taken. */
  clock: JobClock;
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
    onClose: (ended) => finish(state, ended),
  });
  const state: State = {
    options,
    send,
    modules: new Map(),
    packages: new Map(),
    memory: createMemoryGuard(child.pid, options.asUser),
    queue: createJobQueue(),
    ready: false,
    retired: false,
    given: 0,
    clock: createJobClock(child.pid),
    averageMs: 0,
    reason: undefined,
  };
  return {
    isQuarantine: options.quarantine,
    isReady: () => state.ready && !state.retired && !child.killed,
    isSlow: () => state.clock.age() > SLOW_MS,
    stuckOn: () => (state.clock.age() > STUCK_MS ? state.queue.first()?.job.module : undefined),
    isHeld: () => state.clock.age() > SLOW_MS || state.queue.first()?.job.exclusive === true,
    isServing: (module) => state.queue.has(module),
    backlog: () => state.queue.weight(),
    expectedWait: () => state.queue.size() * state.averageMs,
    give: (jobs) => give(state, jobs),
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
  state.clock.restart();
  if (report.kind === "ready") {
    state.ready = true;
    state.memory.begin();
    state.send({ kind: "realm" }, state.options.realm);
    state.options.onReady();
  } else if (report.kind === "split") {
    state.queue.split(report.job);
  } else {
    takeAnswers(state, report, text);
  }
}

function takeAnswers(state: State, { job, count, micros }: Extract<Report, { kind: "answers" }>, text: string): void {
  const entries = state.queue.answer(job, count);
  state.averageMs += NEWEST_WEIGHT * (micros / 1000 / count - state.averageMs);
  // Jobs that were taken back were canceled together, and have no answers.
  const answers = parseAnswers(text, count, micros);
  entries.forEach((entry, index) => {
    if (!entry.takenBack) entry.job.settle(answers[index]!);
  });
  if (state.retired) retire(state);
}

function retire(state: State): void {
  state.retired = true;
  if (state.queue.size() === 0) end(state, "crashed", "The sandbox process was worn out.");
}

function give(state: State, jobs: Job[]): void {
  const [first] = jobs;
  if (!first) return;
  const { operation: kind, module, limitMs: timeoutMs, bundle } = first;
  // Deleting first moves the module to the end of the map, behind those used less recently.
  const isNew = !state.modules.delete(module);
  state.modules.set(module, Date.now());
  if (isNew) {
    unloadSurplus(state);
    const { memoryMb, isolation, export: exportName } = bundle.spec;
    const packages = loadPackages(state, module, bundle.part);
    const options = { module, memoryMb, strict: isolation === "strict", export: exportName, packages };
    state.send({ kind: "load", ...options }, bundle.code);
  }
  const id = state.queue.add(jobs, isNew ? LOADING_GRACE_MS : GRACE_MS);
  const inputs = `[${jobs.map(({ text }) => text).join(",")}]`;
  const bodies = jobs.map(({ body }) => body);
  state.send({ kind, job: id, module, timeoutMs }, inputs, bodies);
  state.given += jobs.length;
}

/** Gives the id of the module's packages. */
function loadPackages({ packages, send }: State, module: string, part: PackagesCode | undefined): string | undefined {
  if (!part) return undefined;
  const users = packages.get(part.hash) ?? new Set();
  if (users.size === 0) send({ kind: "loadPackages", packages: part.hash }, part.code);
  packages.set(part.hash, users.add(module));
  return part.hash;
}

function unloadPackages({ packages, send }: State, module: string): void {
  for (const [id, users] of packages) {
    if (!users.delete(module) || users.size > 0) continue;
    packages.delete(id);
    send({ kind: "unloadPackages", packages: id });
  }
}

/** Unloads modules over the limit and idle ones. The newest always stays. */
function unloadSurplus(state: State): void {
  const { modules, options, send } = state;
  const idleSince = Date.now() - MODULE_IDLE_MS;
  for (const [module, usedAt] of modules) {
    if (usedAt >= idleSince && modules.size <= options.maxModules) return;
    modules.delete(module);
    send({ kind: "unload", module });
    unloadPackages(state, module);
  }
}

function takeBack({ queue, send, clock }: State): Job[] {
  const running = queue.first()?.job;
  // Sending a body again costs more than to wait for an honest call of the same module.
  const isLate = clock.age() > (running?.limitMs ?? 0) / 2;
  const waiting = queue.waiting().filter(({ job }) => isLate || job.module !== running?.module);
  if (waiting.length > 0) send({ kind: "cancel", jobs: waiting.map(({ id }) => id) });
  for (const entry of waiting) entry.takenBack = true;
  return waiting.map((entry) => entry.job);
}

function tick(state: State, elapsedMs: number): void {
  if (state.queue.size() === 0 && state.ready) return;
  state.clock.advance(elapsedMs);
  if (state.queue.size() > 0) limitRunning(state);
  else if (state.clock.age() > START_MS) end(state, "crashed", "The sandbox process did not start.");
}

function limitRunning(state: State): void {
  const running = state.queue.running();
  const { limitMs, bundle, signal } = running[0]!.job;
  const { graceMs } = running[0]!.group;
  const { memoryMb } = bundle.spec;
  if (signal?.aborted) {
    end(state, "timeout", "Nothing waits for the result any more.");
  } else if (state.clock.age() > limitMs + graceMs) {
    end(state, "timeout", `The transform ran longer than ${limitMs} ms and could not be interrupted.`);
  } else if (state.memory.isExceeded(state.modules.size, memoryMb)) {
    end(state, "memory", `The transform needed far more memory than its ${memoryMb} MB.`);
  }
}

function end(state: State, kind: FailedAnswer["kind"], message: string): void {
  state.reason ??= { kind, message, log: [] };
  state.options.process.kill("SIGKILL");
}

function finish({ options, queue, reason, ready }: State, ended: ChildEnd): void {
  const running = queue.running().filter(({ takenBack }) => !takenBack);
  options.onExit({
    reason: reason ?? explainExit(ended, ready),
    isJobsFault: reason?.kind === "timeout" && running.length === 1,
    wasReady: ready,
    running: running.map(({ job }) => job),
    waiting: queue.waiting().map(({ job }) => job),
  });
}
