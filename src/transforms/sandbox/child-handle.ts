import type { ChildProcessWithoutNullStreams } from "node:child_process";
import type { FailedAnswer } from "./answer.ts";
import { connectChild } from "./child-pipe.ts";
import { explainDeath } from "./explain-death.ts";
import type { Job } from "./job.ts";
import { createLoadedModules, type LoadedModules, toModuleHead } from "./loaded-modules.ts";
import { createMemoryGuard, type MemoryGuard } from "./memory-guard.ts";
import { parseAnswer } from "./parse-answer.ts";
import type { Order, Report } from "./protocol.ts";

/** How long a job may go on after its own deadline, which the child keeps as long as it can. */
const GRACE_MS = 200;
/** The same for a job that has to wait for its module's isolate to be made. */
const LOADING_GRACE_MS = 500;
/** A job that runs so long may be stuck. */
const SLOW_MS = 30;
/** The most of a tick that counts: in a longer one this process was held up itself, and the answer may be here unread. */
const MAX_TICK_MS = 50;
/** After so many jobs it is replaced, whatever it looks like. */
const MAX_JOBS = 1_000_000;
/** A child that is not ready by then never will be. */
const START_MS = 10_000;

/** How a child ended, and what it leaves behind. */
export interface ChildEnd {
  reason: FailedAnswer;
  /** True where the job that ran is to blame for certain; else an earlier one may have spoilt the process. */
  blamed: boolean;
  /** False where it never came to be ready. */
  wasReady: boolean;
  running: Job | undefined;
  /** Jobs it was given and had not begun. */
  waiting: Job[];
}

export interface ChildOptions {
  process: ChildProcessWithoutNullStreams;
  /** The code of the realm. */
  realm: string;
  /** It may take a job that it could not take before. */
  onFree(): void;
  onEnd(end: ChildEnd): void;
}

/** A sandbox process as the supervisor sees it. It carries out what it is given in order. */
export interface ChildHandle {
  isReady(): boolean;
  /** True while the job that runs takes so long that what waits behind it is better off elsewhere. */
  isSlow(): boolean;
  /** True while nobody should be put behind the job that runs. */
  isHeld(): boolean;
  /** How many jobs it was given and has not answered. */
  backlog(): number;
  give(job: Job): void;
  /** Takes back what has not begun. */
  takeBack(): Job[];
  /** Counts time for the job that runs, and ends the child where that is over its limits. */
  tick(elapsedMs: number): void;
  /** True once it has grown or served so much that a fresh one is better. */
  isWorn(): boolean;
  /** Takes no more jobs, and ends once it has answered those it has. */
  retire(): void;
  /** Forgets modules that were not used for long. */
  tidy(): void;
  kill(): void;
  /** Resolves once the process is gone. */
  readonly ended: Promise<void>;
}

interface Entry {
  /** Names this hand-over: a job that was taken back may come again. */
  ticket: number;
  job: Job;
  graceMs: number;
  takenBack: boolean;
}

interface State {
  options: ChildOptions;
  send: (order: Order, text?: string, body?: Buffer) => void;
  modules: LoadedModules;
  memory: MemoryGuard;
  ready: boolean;
  retired: boolean;
  /** Given and not answered, in order: the first one runs. */
  entries: Entry[];
  lastTicket: number;
  /** How long the first one has run, or the child has taken to start, in milliseconds. */
  age: number;
  /** Why this side ended it, if it did. */
  verdict: FailedAnswer | undefined;
}

export function createChild(options: ChildOptions): ChildHandle {
  const child = options.process;
  const state: State = {
    options,
    send: connectChild({
      process: child,
      onReport: (report, text) => receive(state, report, text),
      onBroken: () => end(state, "crashed", "The sandbox process no longer makes sense."),
      onClose: (lastWords) => options.onEnd(toEnd(state, lastWords)),
    }),
    modules: createLoadedModules(),
    memory: createMemoryGuard(child.pid),
    ready: false,
    retired: false,
    entries: [],
    lastTicket: 0,
    age: 0,
    verdict: undefined,
  };
  return {
    isReady: () => state.ready && !state.retired && !child.killed,
    isSlow: () => state.age > SLOW_MS,
    isHeld: () => state.age > SLOW_MS || state.entries[0]?.job.suspect === true,
    backlog: () => state.entries.length,
    give: (job) => give(state, job),
    takeBack: () => takeBack(state),
    tick: (elapsedMs) => tick(state, elapsedMs),
    isWorn: () => state.lastTicket > MAX_JOBS || state.memory.isBloated(state.modules.count()),
    retire: () => retire(state),
    tidy: () => tidy(state),
    kill: () => void child.kill("SIGKILL"),
    ended: new Promise((resolve) => child.once("close", () => resolve())),
  };
}

function receive(state: State, report: Report, text: string): void {
  if (report.kind === "ready") {
    state.ready = true;
    state.age = 0;
    state.memory.begin();
    state.send({ kind: "realm" }, state.options.realm);
  } else {
    answer(state, report.job, text);
  }
  state.options.onFree();
}

function answer(state: State, ticket: number, text: string): void {
  const entry = state.entries.shift();
  if (entry?.ticket !== ticket) throw new Error("An answer came out of turn.");
  state.age = 0;
  if (!entry.takenBack) entry.job.settle(parseAnswer(text));
  if (state.retired) retire(state);
}

function retire(state: State): void {
  state.retired = true;
  if (state.entries.length === 0) end(state, "crashed", "The sandbox process was worn out.");
}

function give(state: State, job: Job): void {
  const isNew = state.modules.use(job.module, Date.now());
  if (isNew) {
    tidy(state);
    state.send({ kind: "load", ...toModuleHead(job) }, job.bundle.code);
  }
  const { operation: kind, module, timeoutMs } = job;
  const ticket = ++state.lastTicket;
  state.send({ kind, job: ticket, module, timeoutMs }, job.text, job.body);
  state.entries.push({ ticket, job, graceMs: isNew ? LOADING_GRACE_MS : GRACE_MS, takenBack: false });
}

function takeBack(state: State): Job[] {
  const waiting = state.entries.slice(1).filter((entry) => !entry.takenBack);
  for (const entry of waiting) {
    entry.takenBack = true;
    state.send({ kind: "cancel", job: entry.ticket });
  }
  return waiting.map((entry) => entry.job);
}

function tick(state: State, elapsedMs: number): void {
  const [running] = state.entries;
  if (!running && state.ready) return;
  state.age += Math.min(elapsedMs, MAX_TICK_MS);
  if (running) limitJob(state, running);
  else if (state.age > START_MS) end(state, "crashed", "The sandbox process did not start.");
}

function limitJob(state: State, { job, graceMs }: Entry): void {
  const { timeoutMs, bundle } = job;
  if (state.age > timeoutMs + graceMs) {
    end(state, "timeout", `The transform ran longer than ${timeoutMs} ms and could not be interrupted.`);
  } else if (state.memory.isExceeded(state.modules.count(), bundle.spec.memoryMb)) {
    end(state, "memory", `The transform needed far more memory than its ${bundle.spec.memoryMb} MB.`);
  }
}

function tidy(state: State): void {
  for (const module of state.modules.takeSurplus(Date.now())) state.send({ kind: "unload", module });
}

function end(state: State, kind: FailedAnswer["kind"], message: string): void {
  state.verdict ??= { kind, message, log: [] };
  state.options.process.kill("SIGKILL");
}

function toEnd({ entries, verdict, ready }: State, lastWords: string): ChildEnd {
  const [first, ...rest] = entries;
  return {
    reason: verdict ?? explainDeath(lastWords),
    blamed: verdict?.kind === "timeout",
    wasReady: ready,
    running: first && !first.takenBack ? first.job : undefined,
    waiting: rest.filter((entry) => !entry.takenBack).map((entry) => entry.job),
  };
}
