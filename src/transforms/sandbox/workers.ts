import type { Log } from "../../telemetry/log.ts";
import type { ChildEnd, ChildHandle } from "./job.ts";
import { createQuarters, findConfinement, loadPrograms, type Quarters } from "./spawn.ts";
import { createChild } from "./worker.ts";
import { backoffMs } from "../../shared/backoff.ts";

/** Isolates of 1 to 2 MB each. The quarantine only sees modules come and go. */
const MAX_MODULES = 256;
const MAX_QUARANTINED_MODULES = 16;
const TIDY_MS = 60_000;
const RESTART_BACKOFF = { firstMs: 100, maxMs: 5000 };

export interface CrewOptions {
  log: Log;
  /** How many child processes; the last one is the quarantine. */
  size: number;
  /** A child may take a job that it could not take before. */
  onFree(): void;
  /** A child ended; another one is on its way. */
  onEnd(end: ChildEnd): void;
}

/** The child processes: as many as there should be, from the first `wake` to `close`. */
export interface Crew {
  /** Starts the children, if that was not done yet. Rejects where they cannot even be prepared. */
  wake(): Promise<void>;
  /** Those that take jobs. */
  ready(): ChildHandle[];
  /** All of them, those too that start or have retired. */
  all(): ChildHandle[];
  /** Has a child that is worn out replaced: one at a time, and never the last one that serves. */
  renew(): void;
  /** How many were replaced. */
  recycled(): number;
  close(): Promise<void>;
}

interface State {
  options: CrewOptions;
  phase: "asleep" | "awake" | "closed";
  /** By their place; a hole where the next one is not started yet. */
  children: (ChildHandle | undefined)[];
  recycled: number;
  /** Starts in a row that came to nothing. */
  failedStarts: number;
  quarters: Quarters | undefined;
  realm: string;
  tidier: NodeJS.Timeout | undefined;
  onExit: () => void;
}

export function createCrew(options: CrewOptions): Crew {
  const state: State = {
    options,
    phase: "asleep",
    children: [],
    recycled: 0,
    failedStarts: 0,
    quarters: undefined,
    realm: "",
    tidier: undefined,
    onExit: () => vacate(state),
  };
  return {
    wake: () => wake(state),
    ready: () => listReady(state),
    all: () => listAll(state),
    renew: () => renew(state),
    recycled: () => state.recycled,
    close: () => close(state),
  };
}

async function wake(state: State): Promise<void> {
  const [programs, confinement] = await Promise.all([loadPrograms(), findConfinement()]);
  if (state.phase !== "asleep") return;
  const quarters = createQuarters(programs.child, confinement);
  if (!confinement.includes("--net")) state.options.log.info("sandbox processes have the service's network");
  state.phase = "awake";
  state.realm = programs.realm;
  state.quarters = quarters;
  process.once("exit", state.onExit);
  state.tidier = setInterval(() => listAll(state).forEach((child) => child.tidy()), TIDY_MS).unref();
  for (let place = 0; place < state.options.size; place++) start(state, quarters, place);
}

function start(state: State, quarters: Quarters, place: number): void {
  if (state.phase !== "awake") return;
  try {
    const isLast = place === state.options.size - 1;
    state.children[place] = createChild({
      ...quarters.launch(),
      quarantine: isLast,
      maxModules: isLast && place > 0 ? MAX_QUARANTINED_MODULES : MAX_MODULES,
      realm: state.realm,
      onFree: () => state.options.onFree(),
      onEnd: (end) => replace(state, quarters, place, end),
    });
  } catch (error) {
    // A system at its limits may refuse another process.
    state.failedStarts++;
    startLater(state, quarters, place, String(error));
  }
}

function startLater(state: State, quarters: Quarters, place: number, reason: string): void {
  state.options.log.warn("a sandbox process is replaced", { reason });
  const delayMs = state.failedStarts === 0 ? 0 : backoffMs(state.failedStarts, RESTART_BACKOFF);
  setTimeout(() => start(state, quarters, place), delayMs).unref();
}

function replace(state: State, quarters: Quarters, place: number, end: ChildEnd): void {
  state.children[place] = undefined;
  state.recycled++;
  state.failedStarts = end.wasReady ? 0 : state.failedStarts + 1;
  if (state.phase === "awake") startLater(state, quarters, place, end.reason.message);
  state.options.onEnd(end);
}

function listAll({ children }: State): ChildHandle[] {
  return children.filter((child) => child !== undefined);
}

function listReady(state: State): ChildHandle[] {
  return listAll(state).filter((child) => child.isReady());
}

function renew(state: State): void {
  const ready = listReady(state);
  if (ready.length < 2 || ready.length < state.options.size) return;
  ready.find((child) => child.isWorn())?.retire();
}

async function close(state: State): Promise<void> {
  state.phase = "closed";
  process.off("exit", state.onExit);
  clearInterval(state.tidier);
  const ended = listAll(state).map((child) => child.ended);
  vacate(state);
  await Promise.all(ended);
}

/** Leaves no process and no folder behind. */
function vacate(state: State): void {
  for (const child of listAll(state)) child.kill();
  state.quarters?.remove();
}
