import type { Log } from "../../telemetry/log.ts";
import { type ChildEnd, type ChildHandle, createChild } from "./child-handle.ts";
import { findConfinement } from "./confinement.ts";
import { createQuarters, type Quarters } from "./launch.ts";
import { loadPrograms } from "./programs.ts";

const TIDY_MS = 60_000;
const MAX_RESTART_DELAY_MS = 5000;

export interface CrewOptions {
  log: Log;
  /** How many child processes. */
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
  children: Set<ChildHandle>;
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
    children: new Set(),
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
    all: () => [...state.children],
    renew: () => renew(state),
    recycled: () => state.recycled,
    close: () => close(state),
  };
}

async function wake(state: State): Promise<void> {
  const [programs, confinement] = await Promise.all([loadPrograms(), findConfinement()]);
  if (state.phase !== "asleep") return;
  const quarters = createQuarters(programs.child, confinement);
  state.phase = "awake";
  state.realm = programs.realm;
  state.quarters = quarters;
  process.once("exit", state.onExit);
  state.tidier = setInterval(() => state.children.forEach((child) => child.tidy()), TIDY_MS).unref();
  for (let count = 0; count < state.options.size; count++) start(state, quarters);
}

function start(state: State, quarters: Quarters): void {
  if (state.phase !== "awake") return;
  try {
    const child = createChild({
      process: quarters.launch(),
      realm: state.realm,
      onFree: () => state.options.onFree(),
      onEnd: (end) => replace(state, quarters, child, end),
    });
    state.children.add(child);
  } catch (error) {
    // A system at its limits may refuse another process.
    state.failedStarts++;
    startLater(state, quarters, String(error));
  }
}

function startLater(state: State, quarters: Quarters, reason: string): void {
  state.options.log.warn("a sandbox process is replaced", { reason });
  const delayMs = state.failedStarts === 0 ? 0 : 50 * 2 ** state.failedStarts;
  setTimeout(() => start(state, quarters), Math.min(delayMs, MAX_RESTART_DELAY_MS)).unref();
}

function replace(state: State, quarters: Quarters, child: ChildHandle, end: ChildEnd): void {
  state.children.delete(child);
  state.recycled++;
  state.failedStarts = end.wasReady ? 0 : state.failedStarts + 1;
  if (state.phase === "awake") startLater(state, quarters, end.reason.message);
  state.options.onEnd(end);
}

function listReady({ children }: State): ChildHandle[] {
  return [...children].filter((child) => child.isReady());
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
  const ended = [...state.children].map((child) => child.ended);
  vacate(state);
  await Promise.all(ended);
}

/** Leaves no process and no folder behind. */
function vacate({ children, quarters }: State): void {
  for (const child of children) child.kill();
  quarters?.remove();
}
