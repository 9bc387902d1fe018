import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { messageOf } from "../../errors.ts";
import { backoffMs } from "../../shared/time.ts";
import type { Log } from "../../telemetry/log.ts";
import { endPrepared, takeFirstChild } from "./prepare.ts";
import {
  AS_NOBODY,
  sameUserPrefix,
  findConfinement,
  FULL_CONFINEMENT,
  type SandboxDir,
  type FindTempDir,
} from "./spawn.ts";
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
  findTempDir: FindTempDir | undefined;
  /** A worker may take more jobs than before. */
  onFree(): void;
  /** A worker ended; its replacement is on the way. */
  onWorkerExit(exit: WorkerExit): void;
}

/** The child processes: a fixed number, from `start` to `close`. */
export interface Workers {
  /** Starts the quarantine, which serves alone until the others are ready. Rejects if it cannot be prepared. */
  start(): Promise<void>;
  /** Starts the others, if they are not started. */
  startOthers(): void;
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
  /** The workers beside the quarantine; ready: one of them has been. */
  others: "stopped" | "started" | "ready";
  /** The words before the command of a child, and whether the system is known to allow them. */
  confinement: string[];
  isAllowed: boolean;
  recycled: number;
  /** Starts in a row without a ready worker. */
  failedStarts: number;
  /** Why the last worker ended or was not started. */
  lastReason: string;
  dir: SandboxDir | undefined;
  realm: string;
  unloader: NodeJS.Timeout | undefined;
}

/** The states of all sandboxes that run. When this process exits, nothing of them stays behind. */
const running = new Set<State>();
process.on("exit", () => running.forEach(dispose));

export function createWorkers(options: WorkersOptions): Workers {
  const state: State = {
    options,
    phase: "stopped",
    slots: [],
    others: "stopped",
    confinement: FULL_CONFINEMENT,
    isAllowed: false,
    recycled: 0,
    failedStarts: 0,
    lastReason: "",
    dir: undefined,
    realm: "",
    unloader: undefined,
  };
  return {
    start: () => start(state),
    startOthers: () => startOthers(state),
    size: () => (state.failedStarts > 0 ? listAll(state).length : state.others === "ready" ? options.size : 1),
    all: () => listAll(state),
    replaceWorn: () => replaceWorn(state),
    recycled: () => state.recycled,
    failure: () => findFailure(state),
    close: () => close(state),
  };
}

async function start(state: State): Promise<void> {
  const prepared = await takeFirstChild(state.options.findTempDir);
  if (state.phase !== "stopped") return endPrepared(prepared);
  state.phase = "started";
  state.realm = prepared.realm;
  state.dir = prepared.dir;
  running.add(state);
  state.unloader = setInterval(() => {
    for (const worker of listAll(state)) worker.unloadIdleModules();
  }, UNLOAD_EVERY_MS).unref();
  startWorker(state, state.options.size - 1, prepared.child);
}

function startOthers(state: State): void {
  if (state.others !== "stopped" || !state.dir) return;
  state.others = "started";
  for (let other = 0; other < state.options.size - 1; other++) startWorker(state, other);
}

function onReady(state: State, slot: number): void {
  state.isAllowed = true;
  if (slot < state.options.size - 1) state.others = "ready";
}

function startWorker(state: State, slot: number, child?: ChildProcessWithoutNullStreams): void {
  if (state.phase !== "started" || !state.dir) return;
  try {
    const isLast = slot === state.options.size - 1;
    state.slots[slot] = createWorker({
      process: child ?? state.dir.launch(state.confinement),
      quarantine: isLast,
      maxModules: isLast && slot > 0 ? MAX_QUARANTINED_MODULES : MAX_MODULES,
      realm: state.realm,
      asUser: sameUserPrefix(state.confinement),
      onReady: () => onReady(state, slot),
      onFree: () => state.options.onFree(),
      onExit: (exit) => replace(state, slot, exit),
    });
  } catch (error) {
    // At its limits, the system may refuse another process.
    state.failedStarts++;
    restartLater(state, slot, `The sandbox process cannot start: ${messageOf(error)}`);
  }
}

function restartLater(state: State, slot: number, reason: string): void {
  state.options.log.warn("replacing a sandbox process", { reason });
  state.lastReason = reason;
  const delayMs = state.failedStarts === 0 ? 0 : backoffMs(state.failedStarts, RESTART_BACKOFF);
  setTimeout(() => startWorker(state, slot), delayMs).unref();
}

function replace(state: State, slot: number, exit: WorkerExit): void {
  state.slots[slot] = undefined;
  const isStarted = state.phase === "started";
  if (isStarted && !exit.wasReady && !state.isAllowed) return void startAsAllowed(state, slot);
  state.recycled++;
  state.failedStarts = exit.wasReady ? 0 : state.failedStarts + 1;
  if (isStarted) restartLater(state, slot, exit.reason.message);
  state.options.onWorkerExit(exit);
}

/** After the first start failed: the system may not allow the whole confinement. */
async function startAsAllowed(state: State, slot: number): Promise<void> {
  const { log } = state.options;
  state.confinement = await findConfinement(state.dir?.entry);
  state.isAllowed = true;
  if (!state.confinement.includes("--net")) log.info("sandbox processes have the service's network");
  if (process.getuid?.() === 0 && !state.confinement.includes(AS_NOBODY)) {
    log.warn("sandbox processes run as root: run the service as another user");
  }
  startWorker(state, slot);
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
  running.delete(state);
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
