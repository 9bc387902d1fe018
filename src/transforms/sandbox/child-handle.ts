import type { ChildProcessWithoutNullStreams } from "node:child_process";
import type { FailedAnswer } from "./answer.ts";
import { connectChild } from "./child-pipe.ts";
import { explainDeath } from "./explain-death.ts";
import type { Job } from "./job.ts";
import { createLoadedModules, type LoadedModules, toModuleHead } from "./loaded-modules.ts";
import { createMemoryGuard, type MemoryGuard } from "./memory-guard.ts";
import { parseAnswer } from "./parse-answer.ts";
import type { Progress } from "./progress.ts";
import type { Order, Report } from "./protocol.ts";

/** How long a job may go on after its own deadline, which the child keeps as long as it can. */
const GRACE_MS = 200;
/** The same for a job that has to wait for its module's isolate to be made. */
const LOADING_GRACE_MS = 500;
/** A job that runs so long may be stuck. */
const SLOW_MS = 10;
/** The most of a tick that counts: in a longer one this process was held up itself, and the answer may be here unread. */
const MAX_TICK_MS = 50;
/** How much of the pace the newest job makes. */
const PACE_WEIGHT = 0.1;
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
  progress: Progress;
  quarantine: boolean;
  /** How many modules it may hold. */
  maxModules: number;
  /** The code of the realm. */
  realm: string;
  /** It may take a job that it could not take before. */
  onFree(): void;
  onEnd(end: ChildEnd): void;
}

/** A sandbox process as the supervisor sees it. It carries out what it is given in order. */
export interface ChildHandle {
  /** True where jobs go that nobody should have to wait for. */
  isQuarantine: boolean;
  isReady(): boolean;
  /** True while the job that runs takes so long that what waits behind it is better off elsewhere. */
  isSlow(): boolean;
  /** True while nobody should be put behind the job that runs. */
  isHeld(): boolean;
  /** How many jobs it was given and has not answered. */
  backlog(): number;
  /** How long a job would wait for those before it, in milliseconds, at the pace of the last ones. */
  expectedWait(): number;
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

type AnswerReport = Extract<Report, { kind: "answer" }>;

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
  /** Given and not answered, in order: the first one runs, or one soon after it, while answers wait to be sent. */
  entries: Entry[];
  lastTicket: number;
  /** How long the running one has run, or the child has taken to start, in milliseconds. */
  age: number;
  /** What a job takes in there, in milliseconds, smoothed. */
  pace: number;
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
      onPause: () => options.onFree(),
      onBroken: () => end(state, "crashed", "The sandbox process no longer makes sense."),
      onClose: (lastWords) => finish(state, lastWords),
    }),
    modules: createLoadedModules(options.maxModules),
    memory: createMemoryGuard(child.pid),
    ready: false,
    retired: false,
    entries: [],
    lastTicket: 0,
    age: 0,
    pace: 0,
    verdict: undefined,
  };
  return {
    isQuarantine: options.quarantine,
    isReady: () => state.ready && !state.retired && !child.killed,
    isSlow: () => state.age > SLOW_MS,
    isHeld: () => state.age > SLOW_MS || state.entries[0]?.job.suspect === true,
    backlog: () => state.entries.length,
    expectedWait: () => state.entries.length * state.pace,
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
    answer(state, report, text);
  }
}

function answer(state: State, { job: ticket, micros }: AnswerReport, text: string): void {
  const entry = state.entries.shift();
  if (entry?.ticket !== ticket) throw new Error("An answer came out of turn.");
  state.age = 0;
  state.pace += PACE_WEIGHT * (micros / 1000 - state.pace);
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
  const running = findRunning(state);
  const waiting = state.entries.filter((entry) => entry !== running && !entry.takenBack);
  for (const entry of waiting) {
    entry.takenBack = true;
    state.send({ kind: "cancel", job: entry.ticket });
  }
  return waiting.map((entry) => entry.job);
}

function tick(state: State, elapsedMs: number): void {
  if (state.entries.length === 0 && state.ready) return;
  state.age += Math.min(elapsedMs, MAX_TICK_MS);
  const running = findRunning(state);
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

/** What the child is at: what it noted, where that is not answered yet; else the first, for it notes nothing that is clear. */
function findRunning({ entries, options }: State): Entry | undefined {
  if (entries.length < 2) return entries[0];
  const noted = options.progress.read();
  return entries.find(({ ticket }) => ticket === noted) ?? entries[0];
}

function finish(state: State, lastWords: string): void {
  const left = toEnd(state, lastWords);
  state.options.progress.close();
  state.options.onEnd(left);
}

function toEnd(state: State, lastWords: string): ChildEnd {
  const { entries, verdict, ready } = state;
  const running = findRunning(state);
  return {
    reason: verdict ?? explainDeath(lastWords),
    blamed: verdict?.kind === "timeout",
    wasReady: ready,
    running: running && !running.takenBack ? running.job : undefined,
    waiting: entries.filter((entry) => entry !== running && !entry.takenBack).map((entry) => entry.job),
  };
}
