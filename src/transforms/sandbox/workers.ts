import { messageOf } from "../../errors.ts";
import { backoffMs } from "../../shared/time.ts";
import type { Log } from "../../telemetry/log.ts";
import { loadPrograms } from "./programs.ts";
import { AS_NOBODY, asUserOf, createSandboxDir, findConfinement, type SandboxDir } from "./spawn.ts";
import { createWorker, type Worker, type WorkerExit } from "./worker.ts";

/** Isolates take 1 to 2 MB each. The modules of the quarantine change all the time. */
const MAX_MODULES = 256;
const MAX_QUARANTINED_MODULES = 16;
const UNLOAD_EVERY_MS = 60_000;
const RESTART_BACKOFF = { firstMs: 100, maxMs: 5000 };
/** After this number of consecutive starts without a ready worker, waiting calls are refused with the reason. */
const MAX_FAILED_STARTS = 3;

export interface WorkersOptions {
  log: Log;
  /** How many child processes. The last one is the quarantine. */
  size: number;
  /** A worker may take more jobs than before. */
  onFree(): void;
  /** A worker ended; its replacement is on the way. */
  onWorkerExit(exit: WorkerExit): void;
}

/** The child processes: a fixed number, from `start` to `close`. */
export interface Workers {
  /** Starts the processes if they are not started. Rejects if they cannot be prepared. */
  start(): Promise<void>;
  /** How many there are when all are ready; without those that the system refuses to start or that start later. */
  size(): number;
  /** All, including those that are starting or retired. */
  all(): Worker[];
  /** Replaces a worn-out worker, one at a time and never the last that serves. */
  replaceWorn(): void;
  /** How many were replaced. */
  recycled(): number;
  /** Why none starts, after some attempts. */
  failure(): string | undefined;
  close(): Promise<void>;
}

interface State {
  options: WorkersOptions;
  phase: "stopped" | "started" | "closed";
  /** By slot; undefined until the slot's next worker is started. */
  slots: (Worker | undefined)[];
  /** Workers beside the quarantine are started, and one of them has been ready. */
  hasStartedOthers: boolean;
  hasOthers: boolean;
  recycled: number;
  /** Starts in a row without a ready worker. */
  failedStarts: number;
  /** Why the last worker ended or was not started. */
  lastReason: string;
  dir: SandboxDir | undefined;
  realm: string;
  asUser: string[];
  unloader: NodeJS.Timeout | undefined;
  onExit: () => void;
}

export function createWorkers(options: WorkersOptions): Workers {
  const state: State = {
    options,
    phase: "stopped",
    slots: [],
    hasStartedOthers: false,
    hasOthers: false,
    recycled: 0,
    failedStarts: 0,
    lastReason: "",
    dir: undefined,
    realm: "",
    asUser: [],
    unloader: undefined,
    onExit: () => dispose(state),
  };
  return {
    start: () => start(state),
    size: () => (state.failedStarts > 0 ? listAll(state).length : state.hasOthers ? options.size : 1),
    all: () => listAll(state),
    replaceWorn: () => replaceWorn(state),
    recycled: () => state.recycled,
    failure: () => findFailure(state),
    close: () => close(state),
  };
}

async function start(state: State): Promise<void> {
  const [programs, confinement] = await Promise.all([loadPrograms(), findConfinement()]);
  if (state.phase !== "stopped") return;
  const dir = createSandboxDir(programs.child, confinement);
  if (!confinement.includes("--net")) state.options.log.info("sandbox processes have the service's network");
  if (process.getuid?.() === 0 && !confinement.includes(AS_NOBODY)) {
    state.options.log.warn("sandbox processes run as root: run the service as another user");
  }
  state.phase = "started";
  state.realm = programs.realm;
  state.asUser = asUserOf(confinement);
  state.dir = dir;
  process.once("exit", state.onExit);
  state.unloader = setInterval(() => {
    for (const worker of listAll(state)) worker.unloadIdleModules();
  }, UNLOAD_EVERY_MS).unref();
  startWorker(state, dir, state.options.size - 1);
}

/** The quarantine is first, and serves alone until the others are ready: the check at a start needs only one process. */
function onReady(state: State, dir: SandboxDir, slot: number): void {
  const last = state.options.size - 1;
  if (slot < last) state.hasOthers = true;
  if (state.hasStartedOthers) return;
  state.hasStartedOthers = true;
  for (let other = 0; other < last; other++) startWorker(state, dir, other);
}

function startWorker(state: State, dir: SandboxDir, slot: number): void {
  if (state.phase !== "started") return;
  try {
    const isLast = slot === state.options.size - 1;
    state.slots[slot] = createWorker({
      process: dir.launch(),
      quarantine: isLast,
      maxModules: isLast && slot > 0 ? MAX_QUARANTINED_MODULES : MAX_MODULES,
      realm: state.realm,
      asUser: state.asUser,
      onReady: () => onReady(state, dir, slot),
      onFree: () => state.options.onFree(),
      onExit: (exit) => replace(state, dir, slot, exit),
    });
  } catch (error) {
    // At its limits, the system may refuse another process.
    state.failedStarts++;
    restartLater(state, dir, slot, `The sandbox process cannot start: ${messageOf(error)}`);
  }
}

function restartLater(state: State, dir: SandboxDir, slot: number, reason: string): void {
  state.options.log.warn("replacing a sandbox process", { reason });
  state.lastReason = reason;
  const delayMs = state.failedStarts === 0 ? 0 : backoffMs(state.failedStarts, RESTART_BACKOFF);
  setTimeout(() => startWorker(state, dir, slot), delayMs).unref();
}

function replace(state: State, dir: SandboxDir, slot: number, exit: WorkerExit): void {
  state.slots[slot] = undefined;
  state.recycled++;
  state.failedStarts = exit.wasReady ? 0 : state.failedStarts + 1;
  if (state.phase === "started") restartLater(state, dir, slot, exit.reason.message);
  state.options.onWorkerExit(exit);
}

function findFailure(state: State): string | undefined {
  const isServing = listAll(state).some((worker) => worker.isReady());
  return state.failedStarts >= MAX_FAILED_STARTS && !isServing ? state.lastReason : undefined;
}

function listAll({ slots }: State): Worker[] {
  return slots.filter((worker) => worker !== undefined);
}

function replaceWorn(state: State): void {
  const ready = listAll(state).filter((worker) => worker.isReady());
  if (ready.length < 2 || ready.length < state.options.size) return;
  ready.find((worker) => worker.isWorn())?.retire();
}

async function close(state: State): Promise<void> {
  state.phase = "closed";
  process.off("exit", state.onExit);
  clearInterval(state.unloader);
  const ended = listAll(state).map((worker) => worker.ended);
  dispose(state);
  await Promise.all(ended);
}

/** Leaves no process and no folder behind. */
function dispose(state: State): void {
  for (const worker of listAll(state)) worker.kill();
  state.dir?.remove();
}
