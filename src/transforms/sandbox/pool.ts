import type { Log } from "../../telemetry/log.ts";
import type { Answer, FailedAnswer } from "./answer.ts";
import type { ChildEnd, ChildHandle, Job, JobRequest, Trust } from "./job.ts";
import { createCrew, type Crew } from "./workers.ts";

const MAX_WAITING = 1000;
const MAX_WAITING_MS = 10_000;
const TICK_MS = 5;

export interface PoolOptions {
  log: Log;
  /** How many child processes. They are started at the first job. */
  children: number;
}

interface PoolFigures {
  /** False where no child can take a job, though they should be there. */
  ready: boolean;
  children: number;
  inFlight: number;
  recycled: number;
}

/** Hands jobs to child processes. */
export interface Pool {
  /** Never rejects. Jobs of a child that ends are run again in another, but for the one that ended it. */
  run(request: JobRequest): Promise<Answer>;
  figures(): PoolFigures;
  close(): Promise<void>;
}

interface State {
  log: Log;
  crew: Crew;
  /** broken: the children could not be prepared; the next job is another try. */
  phase: "asleep" | "open" | "broken" | "closed";
  waiting: Job[];
  inFlight: number;
  /** Runs while jobs do. */
  ticker: NodeJS.Timeout | undefined;
  tickedAt: number;
}

export function createPool({ log, children }: PoolOptions): Pool {
  const state: State = {
    log,
    crew: createCrew({
      log,
      size: children,
      onFree: () => distribute(state),
      onEnd: (end) => inherit(state, end),
    }),
    phase: "asleep",
    waiting: [],
    inFlight: 0,
    ticker: undefined,
    tickedAt: 0,
  };
  return {
    run: (request) => run(state, request),
    figures: () => figures(state),
    close: () => close(state),
  };
}

async function run(state: State, request: JobRequest): Promise<Answer> {
  if (state.phase === "closed") return unavailable("The sandbox is closed.");
  if (state.waiting.length >= MAX_WAITING) return unavailable("Too many transforms are waiting.");
  if (state.phase !== "open") void open(state);
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
  try {
    await state.crew.wake();
  } catch (error) {
    if (state.phase === "open") state.phase = "broken";
    state.log.error("the sandbox cannot be set up", { reason: String(error) });
    refuseAll(state, "The sandbox cannot be set up.");
  }
}

/**
 * Sees to what a child leaves behind. A job that may have ended it gets one more try, for an earlier one may have spoilt
 * the process; those that waited behind it have nothing to do with it.
 */
function inherit(state: State, { running, waiting, reason, blamed }: ChildEnd): void {
  state.waiting.unshift(...waiting);
  if (running && (blamed || ++running.deaths > 1)) running.settle(reason);
  else if (running) state.waiting.unshift({ ...running, trust: "suspect" });
  if (state.phase === "closed") refuseAll(state, "The sandbox is closed.");
  else distribute(state);
}

function distribute(state: State): void {
  if (state.waiting.length === 0) return;
  const ready = state.crew.ready();
  const waits = new Set(state.waiting.map((job) => job.trust));
  state.waiting = state.waiting.filter((job) => {
    const child = pickChild(ready, job, waits);
    child?.give(job);
    return child === undefined;
  });
}

function startTicking(state: State): void {
  if (state.ticker) return;
  state.tickedAt = performance.now();
  state.ticker = setInterval(() => tick(state), TICK_MS);
}

function stopTicking(state: State): void {
  clearInterval(state.ticker);
  state.ticker = undefined;
}

function tick(state: State): void {
  const now = performance.now();
  for (const child of state.crew.all()) {
    child.tick(now - state.tickedAt);
    if (child.isSlow()) state.waiting.unshift(...child.takeBack());
  }
  state.tickedAt = now;
  refuseAll(state, "The transform waited too long for its turn.", (job) => now - job.queuedAt > MAX_WAITING_MS);
  distribute(state);
  state.crew.renew();
}

function figures({ crew, phase, inFlight }: State): PoolFigures {
  return {
    ready: phase === "asleep" || crew.ready().length > 0,
    children: crew.all().length,
    inFlight,
    recycled: crew.recycled(),
  };
}

async function close(state: State): Promise<void> {
  state.phase = "closed";
  refuseAll(state, "The sandbox is closed.");
  await state.crew.close();
}

function refuseAll(state: State, reason: string, applies: (job: Job) => boolean = () => true): void {
  const refused = state.waiting.filter(applies);
  state.waiting = state.waiting.filter((job) => !applies(job));
  for (const job of refused) job.settle(unavailable(reason));
}

function unavailable(message: string): FailedAnswer {
  return { kind: "unavailable", message, log: [] };
}

/** Jobs a child is given ahead, so that it never waits for the pipe. */
const MAX_BACKLOG = 16;
/** Below this nobody gains from being sent elsewhere, and jobs that go together cost less. */
const SHORT_WAIT_MS = 2;

/**
 * The child that takes a job, if one can now. What is not proven has the quarantine to itself, one job at a time; while
 * such a job is among those that wait, others keep off it. The rest go to the first child where they need not wait,
 * else where the wait is the shortest: the second child stays empty, a spare, for as long as one is enough.
 */
export function pickChild(ready: ChildHandle[], job: Job, waits: ReadonlySet<Trust>): ChildHandle | undefined {
  if (job.trust === "suspect" && waits.has("untried")) return undefined;
  if (job.trust !== "proven") return ready.find((child) => child.isQuarantine && child.backlog() === 0);
  const isWanted = waits.has("untried") || waits.has("suspect");
  const available = ready.filter(
    (child) =>
      !child.isHeld() && child.backlog() < MAX_BACKLOG && !(isWanted && child.isQuarantine && ready.length > 1),
  );
  return available.find((child) => child.expectedWait() < SHORT_WAIT_MS) ?? findShortestWait(available);
}

function findShortestWait(available: ChildHandle[]): ChildHandle | undefined {
  return available.reduce<ChildHandle | undefined>(
    (best, child) => (best && best.expectedWait() <= child.expectedWait() ? best : child),
    undefined,
  );
}
