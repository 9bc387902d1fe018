import { ChildProcess } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { hash } from "node:crypto";
import { once } from "node:events";
import type * as Esbuild from "esbuild";
import type {
  BuildFailure,
  BuildOptions,
  BuildResult,
  Loader,
  Message,
  TransformOptions,
  TransformResult,
} from "esbuild";
import { messageOf } from "../errors.ts";
import { untilAborted } from "../shared/time.ts";
import { loadAtFirstUse } from "../shared/system/package.ts";

export type {
  BuildOptions,
  CommonOptions,
  Loader,
  Message,
  Metafile,
  OnLoadArgs,
  OnResolveArgs,
  OnResolveResult,
  Plugin,
  PluginBuild,
} from "esbuild";

const esbuild = loadAtFirstUse<typeof Esbuild>("esbuild");

// esbuild reads it when it is loaded, also by tsx. A call that waits then starts a process of its own, which ends with it. Else one
// thread would have a process for all: when esbuild is stopped, that thread ends first, and the process stays as a zombie.
process.env["ESBUILD_WORKER_THREADS"] ??= "0";

const IDLE_MS = 3000;

/** How long a build may get no other file: on a busy machine, a large one takes far longer as a whole. */
const STEP_TIMEOUT_MS = 20_000;
/** How many times as long it may take as a whole. */
const MAX_STEPS = 6;

/** Each build uses all processors. More at once take longer together, and far more memory. */
const MAX_BUILDS = 2;

let running = 0;
/** Builds that wait for their turn. */
const waiting: (() => void)[] = [];
let builds = 0;
let idleTimer: NodeJS.Timeout | undefined;
/** Aborts when the process of the builds in progress is stopped: esbuild itself would leave them pending. */
let stopped = new AbortController();

/** `pluginName` is set if a plugin has refused something. */
export type BuildError = Pick<Message, "text" | "location"> & Partial<Pick<Message, "pluginName">>;

export type Outcome<Result> = { result: Result; errors: [] } | { result: undefined; errors: BuildError[] };

let progressAt = 0;

/** A build has got a file. */
export function noteProgress(): void {
  progressAt = performance.now();
}

/** Builds in memory, a few at a time. The time limit begins with the build, and again with each file of one. */
export async function runEsbuild(
  options: BuildOptions,
  timeoutMs?: number,
): Promise<Outcome<BuildResult<{ write: false; metafile: true }>>> {
  if (builds >= MAX_BUILDS) await new Promise<void>((resolve) => waiting.push(resolve));
  else builds++;
  try {
    return await run(
      () => esbuild().build({ ...options, bundle: true, write: false, metafile: true, logLevel: "silent" }),
      timeoutMs,
    );
  } finally {
    const next = waiting.shift();
    if (next) next();
    else builds--;
  }
}

/** Compiles one text, which imports nothing: that takes half of a build. */
export function transformText(text: string, options: TransformOptions): Promise<Outcome<TransformResult>> {
  return run(() => esbuild().transform(text, { ...options, logLevel: "silent" }));
}

/** The exports of a module, as far as its own text says. */
export interface ModuleKind {
  /** undefined: it neither imports nor exports. */
  format: "esm" | "cjs" | undefined;
  hasDefault: boolean;
}

/** By text. */
const kinds = new Map<string, ModuleKind>();
const MAX_KINDS = 1000;

/** undefined if the text does not compile. */
export async function readModuleKind(contents: string, loader: Loader): Promise<ModuleKind | undefined> {
  const key = hash("sha256", `${loader}:${contents}`);
  const known = kinds.get(key);
  if (known) return known;
  const { result } = await run(() =>
    esbuild().build({
      stdin: { contents, loader },
      bundle: true,
      // The text alone.
      external: ["*"],
      format: "esm",
      tsconfigRaw: "{}",
      metafile: true,
      write: false,
      logLevel: "silent",
    }),
  );
  if (!result) return undefined;
  const [input] = Object.values(result.metafile.inputs);
  const [output] = Object.values(result.metafile.outputs);
  const kind = { format: input?.format, hasDefault: output?.exports.includes("default") === true };
  if (kinds.size >= MAX_KINDS) kinds.clear();
  kinds.set(key, kind);
  return kind;
}

/**
 * Between builds esbuild keeps a process alive, which is stopped after a while without builds. A build that does not end
 * within its time is stopped with that process, and so are others that run at the same time.
 */
async function run<Result>(start: () => Promise<Result>, timeoutMs = STEP_TIMEOUT_MS): Promise<Outcome<Result>> {
  running++;
  clearTimeout(idleTimer);
  const startedAt = performance.now();
  let timer = setTimeout(limit, timeoutMs);
  function limit(): void {
    const now = performance.now();
    const end = Math.min(Math.max(startedAt, progressAt) + timeoutMs, startedAt + MAX_STEPS * timeoutMs);
    if (end > now) timer = setTimeout(limit, end - now);
    else stopEsbuild(`a step of it took longer than ${timeoutMs / 1000} s`);
  }
  try {
    const result = await untilAborted(startSafely(start), stopped.signal);
    return { result, errors: [] };
  } catch (error) {
    return {
      result: undefined,
      errors: isBuildFailure(error) ? error.errors : [{ text: messageOf(error), location: null }],
    };
  } finally {
    clearTimeout(timer);
    running--;
    if (running === 0) idleTimer = setTimeout(() => void esbuild().stop(), IDLE_MS).unref();
  }
}

/** Without file handles for its process, esbuild listens to no error of that, which would end the service. */
async function startSafely<Result>(start: () => Promise<Result>): Promise<Result> {
  let child: unknown;
  const onProcess = (message: unknown): void => {
    ({ process: child } = Object(message));
  };
  subscribe("child_process", onProcess);
  let building: Promise<Result>;
  try {
    building = start();
  } catch (error) {
    // The error that is thrown says only that the process has no pipes.
    if (child instanceof ChildProcess) throw (await once(child, "error"))[0];
    throw error;
  } finally {
    unsubscribe("child_process", onProcess);
  }
  return building;
}

/** Ends all builds in progress: each gives an error. Later builds start a new process. */
export function stopEsbuild(reason: string): void {
  // The process may wait for a file: only its end ends that.
  void esbuild().stop();
  stopped.abort(new Error(`The build was stopped: ${reason}.`));
  stopped = new AbortController();
}

function isBuildFailure(error: unknown): error is BuildFailure {
  return error instanceof Error && "errors" in error && Array.isArray(error.errors);
}

const MAX_WIDTH = 160;

/** A source line with a caret under a column, both 1-based; a long line is cut to the part around the column. */
export function showLine(text: string, line: number, column: number): string {
  const start = column > MAX_WIDTH ? column - MAX_WIDTH / 2 : 0;
  const shown = text.slice(start, start + MAX_WIDTH).replaceAll("\t", " ");
  const gutter = `  ${line} | `;
  return `${gutter}${shown}\n${" ".repeat(gutter.length - 2)}| ${" ".repeat(Math.max(0, column - 1 - start))}^`;
}
