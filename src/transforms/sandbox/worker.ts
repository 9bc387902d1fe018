import { createLoadedModules, type LoadedModules, toModuleHead } from "../child/jobs.ts";
import { type FailedAnswer, parseAnswer } from "./answer.ts";
import type { ChildEnd, ChildHandle, ChildOptions, Job } from "./job.ts";
import { createMemoryGuard, type MemoryGuard } from "./memory-guard.ts";
import type { Order, Report } from "./protocol.ts";
import { connectChild, explainDeath } from "./worker-pipe.ts";

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

type AnswerReport = Extract<Report, { kind: "answer" }>;

interface State {
  options: ChildOptions;
  send: (order: Order, text?: string, body?: Buffer) => void;
  modules: LoadedModules;
  memory: MemoryGuard;
  ready: boolean;
  retired: boolean;
  row: JobRow;
  /** How many jobs it was ever given. */
  given: number;
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
    row: createJobRow(() => options.progress.read()),
    given: 0,
    age: 0,
    pace: 0,
    verdict: undefined,
  };
  return {
    isQuarantine: options.quarantine,
    isReady: () => state.ready && !state.retired && !child.killed,
    isSlow: () => state.age > SLOW_MS,
    isHeld: () => state.age > SLOW_MS || (state.row.first()?.job.trust ?? "proven") !== "proven",
    backlog: () => state.row.count(),
    expectedWait: () => state.row.count() * state.pace,
    give: (job) => give(state, job),
    takeBack: () => takeBack(state),
    tick: (elapsedMs) => tick(state, elapsedMs),
    isWorn: () => state.given > MAX_JOBS || state.memory.isBloated(state.modules.count()),
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
  const { job, takenBack } = state.row.answer(ticket);
  state.age = 0;
  state.pace += PACE_WEIGHT * (micros / 1000 - state.pace);
  if (!takenBack) job.settle(parseAnswer(text));
  if (state.retired) retire(state);
}

function retire(state: State): void {
  state.retired = true;
  if (state.row.count() === 0) end(state, "crashed", "The sandbox process was worn out.");
}

function give(state: State, job: Job): void {
  const isNew = state.modules.use(job.module, Date.now());
  if (isNew) {
    tidy(state);
    state.send({ kind: "load", ...toModuleHead(job) }, job.bundle.code);
  }
  const { operation: kind, module, timeoutMs } = job;
  const ticket = state.row.add(job, isNew ? LOADING_GRACE_MS : GRACE_MS);
  state.send({ kind, job: ticket, module, timeoutMs }, job.text, job.body);
  state.given++;
}

function takeBack(state: State): Job[] {
  const waiting = state.row.waiting();
  for (const entry of waiting) {
    entry.takenBack = true;
    state.send({ kind: "cancel", job: entry.ticket });
  }
  return waiting.map((entry) => entry.job);
}

function tick(state: State, elapsedMs: number): void {
  if (state.row.count() === 0 && state.ready) return;
  state.age += Math.min(elapsedMs, MAX_TICK_MS);
  const running = state.row.running();
  if (running) limitJob(state, running);
  else if (state.age > START_MS) end(state, "crashed", "The sandbox process did not start.");
}

function limitJob(state: State, { job, graceMs }: JobEntry): void {
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

function finish(state: State, lastWords: string): void {
  const left = toEnd(state, lastWords);
  state.options.progress.close();
  state.options.onEnd(left);
}

function toEnd({ row, verdict, ready }: State, lastWords: string): ChildEnd {
  const running = row.running();
  return {
    reason: verdict ?? explainDeath(lastWords),
    blamed: verdict?.kind === "timeout",
    wasReady: ready,
    running: running && !running.takenBack ? running.job : undefined,
    waiting: row.waiting().map((entry) => entry.job),
  };
}

/** A job as it was handed over: one that was taken back may come again, under another ticket. */
interface JobEntry {
  ticket: number;
  job: Job;
  /** How long it may go on after its own deadline, in milliseconds. */
  graceMs: number;
  takenBack: boolean;
}

/** The jobs that a child was given and has not answered, in order. */
export interface JobRow {
  count(): number;
  first(): JobEntry | undefined;
  /** Gives the new one's ticket: 1, 2, 3, … */
  add(job: Job, graceMs: number): number;
  /** The first one is answered; throws where that is another. */
  answer(ticket: number): JobEntry;
  /** The one the child is at. */
  running(): JobEntry | undefined;
  /** Those beside the running one that nobody took back yet. */
  waiting(): JobEntry[];
}

/** `readProgress` gives the ticket that the child has noted. */
export function createJobRow(readProgress: () => number): JobRow {
  const entries: JobEntry[] = [];
  let lastTicket = 0;

  /** A child notes nothing where it is clear that it is at the first one: while no answer waits to be sent. */
  function running(): JobEntry | undefined {
    if (entries.length < 2) return entries[0];
    const noted = readProgress();
    return entries.find(({ ticket }) => ticket === noted) ?? entries[0];
  }

  return {
    count: () => entries.length,
    first: () => entries[0],
    add(job, graceMs) {
      entries.push({ ticket: ++lastTicket, job, graceMs, takenBack: false });
      return lastTicket;
    },
    answer(ticket) {
      const entry = entries.shift();
      if (entry?.ticket !== ticket) throw new Error("An answer came out of turn.");
      return entry;
    },
    running,
    waiting() {
      const current = running();
      return entries.filter((entry) => entry !== current && !entry.takenBack);
    },
  };
}
