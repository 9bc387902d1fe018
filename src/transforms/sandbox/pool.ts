import type { Log } from "../../telemetry/log.ts";
import type { Answer, FailedAnswer } from "./answer.ts";
import { type ChildEnd, type ChildHandle, createChild } from "./child-handle.ts";
import { findConfinement } from "./confinement.ts";
import type { Job, JobRequest } from "./job.ts";
import { createQuarters, type Quarters } from "./launch.ts";
import { pickChild } from "./pick-child.ts";
import { loadPrograms } from "./programs.ts";

const MAX_WAITING = 1000;
const MAX_WAITING_MS = 10_000;
const TICK_MS = 10;
const TIDY_MS = 60_000;
const MAX_RESTART_DELAY_MS = 5000;

export interface PoolOptions {
  log: Log;
  /** How many child processes. They are started at the first job. */
  children: number;
}

export interface PoolFigures {
  ready: boolean;
  children: number;
  inFlight: number;
  recycled: number;
}

/** The child processes, and the jobs that wait for them. */
export interface Pool {
  /** Never rejects. Jobs of a child that ends are run again in another, but for the one that ended it. */
  run(request: JobRequest): Promise<Answer>;
  figures(): PoolFigures;
  close(): Promise<void>;
}

interface State {
  options: PoolOptions;
  phase: "asleep" | "open" | "closed";
  children: Set<ChildHandle>;
  waiting: Job[];
  inFlight: number;
  recycled: number;
  /** Starts in a row that came to nothing. */
  failedStarts: number;
  quarters: Quarters | undefined;
  realm: string;
  /** Runs while jobs do. */
  ticker: NodeJS.Timeout | undefined;
  tickedAt: number;
  tidier: NodeJS.Timeout | undefined;
  onExit: () => void;
}

export function createPool(options: PoolOptions): Pool {
  const state: State = {
    options,
    phase: "asleep",
    children: new Set(),
    waiting: [],
    inFlight: 0,
    recycled: 0,
    failedStarts: 0,
    quarters: undefined,
    realm: "",
    ticker: undefined,
    tickedAt: 0,
    tidier: undefined,
    onExit: () => vacate(state),
  };
  return {
    run: (request) => run(state, request),
    figures: () => figures(state),
    close: () => close(state),
  };
}

async function run(state: State, request: JobRequest): Promise<Answer> {
  if (state.phase === "asleep") void open(state);
  if (state.phase === "closed") return unavailable("The sandbox is closed.");
  if (state.waiting.length >= MAX_WAITING) return unavailable("Too many transforms are waiting.");
  state.inFlight++;
  startTicking(state);
  const answer = await new Promise<Answer>((settle) => {
    state.waiting.push({ ...request, queuedAt: performance.now(), deaths: 0, settle });
    distribute(state);
  });
  state.inFlight--;
  if (state.inFlight === 0) stopTicking(state);
  return answer;
}

async function open(state: State): Promise<void> {
  state.phase = "open";
  process.once("exit", state.onExit);
  state.tidier = setInterval(() => state.children.forEach((child) => child.tidy()), TIDY_MS).unref();
  try {
    const [programs, confinement] = await Promise.all([loadPrograms(), findConfinement()]);
    if (state.phase !== "open") return;
    state.realm = programs.realm;
    state.quarters = createQuarters(programs.child, confinement);
    for (let count = 0; count < state.options.children; count++) start(state);
  } catch (error) {
    state.options.log.error("the sandbox cannot be set up", { reason: String(error) });
    refuseAll(state, "The sandbox cannot be set up.");
    state.phase = "asleep";
  }
}

function start(state: State): void {
  if (state.phase !== "open") return;
  const child = createChild({
    process: state.quarters!.launch(),
    realm: state.realm,
    onFree: () => distribute(state),
    onEnd: (end) => succeed(state, child, end),
  });
  state.children.add(child);
}

/** Puts another child in the place of one that ended, and sees to what it left behind. */
function succeed(state: State, child: ChildHandle, end: ChildEnd): void {
  state.children.delete(child);
  if (state.phase !== "open") return;
  state.recycled++;
  state.failedStarts = end.wasReady ? 0 : state.failedStarts + 1;
  state.options.log.warn("a sandbox process ended", {
    reason: end.reason.message,
    failedStarts: state.failedStarts,
  });
  const delay = Math.min(MAX_RESTART_DELAY_MS, state.failedStarts === 0 ? 0 : 50 * 2 ** state.failedStarts);
  if (delay === 0) start(state);
  else setTimeout(() => start(state), delay).unref();
  inherit(state, end);
}

/**
 * A job that may have ended its child gets one more try, for an earlier one may have spoilt the process. Those that
 * waited behind it have nothing to do with it.
 */
function inherit(state: State, { running, waiting, reason, blamed }: ChildEnd): void {
  state.waiting.unshift(...waiting);
  if (running && (blamed || ++running.deaths > 1)) running.settle(reason);
  else if (running) state.waiting.unshift({ ...running, suspect: true });
  distribute(state);
}

function distribute(state: State): void {
  if (state.waiting.length === 0) return;
  const ready = [...state.children].filter((child) => child.isReady());
  const suspectWaits = state.waiting.some((job) => job.suspect);
  state.waiting = state.waiting.filter((job) => {
    const child = pickChild(ready, job, suspectWaits);
    child?.give(job);
    return child === undefined;
  });
}

function startTicking(state: State): void {
  if (state.ticker) return;
  state.tickedAt = performance.now();
  state.ticker = setInterval(() => tick(state), TICK_MS);
}

function tick(state: State): void {
  const now = performance.now();
  const elapsedMs = now - state.tickedAt;
  state.tickedAt = now;
  for (const child of state.children) {
    child.tick(elapsedMs);
    if (child.isSlow()) state.waiting.unshift(...child.takeBack());
  }
  const [expired, fresh] = partition(state.waiting, (job) => now - job.queuedAt > MAX_WAITING_MS);
  state.waiting = fresh;
  for (const job of expired) job.settle(unavailable("The transform waited too long for its turn."));
  distribute(state);
  retireWorn(state);
}

function stopTicking(state: State): void {
  clearInterval(state.ticker);
  state.ticker = undefined;
}

/** One at a time, and never the last one that serves. */
function retireWorn(state: State): void {
  const ready = [...state.children].filter((child) => child.isReady());
  if (ready.length === state.options.children && ready.length > 1)
    ready.find((child) => child.isWorn())?.retire();
}

function figures(state: State): PoolFigures {
  const ready = [...state.children].some((child) => child.isReady());
  return {
    ready: state.phase === "asleep" ? state.failedStarts === 0 : ready,
    children: state.children.size,
    inFlight: state.inFlight,
    recycled: state.recycled,
  };
}

async function close(state: State): Promise<void> {
  state.phase = "closed";
  process.off("exit", state.onExit);
  clearInterval(state.tidier);
  refuseAll(state, "The sandbox is closed.");
  const ended = [...state.children].map((child) => child.ended);
  vacate(state);
  await Promise.all(ended);
}

/** Leaves no process and no folder behind. */
function vacate({ children, quarters }: State): void {
  for (const child of children) child.kill();
  quarters?.remove();
}

function refuseAll(state: State, reason: string): void {
  const jobs = state.waiting;
  state.waiting = [];
  for (const job of jobs) job.settle(unavailable(reason));
}

function unavailable(message: string): FailedAnswer {
  return { kind: "unavailable", message, log: [] };
}

function partition<Item>(items: Item[], holds: (item: Item) => boolean): [Item[], Item[]] {
  return [items.filter(holds), items.filter((item) => !holds(item))];
}
