import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { ResolvedConfig } from "../config/types.ts";
import { ConfigError, type ConfigProblem, toSentence } from "../errors.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { stopEsbuild } from "../transforms/esbuild.ts";
import type { Program } from "./build.ts";
import { createWatcher } from "./watch.ts";

export interface ReloadFailure {
  /** Milliseconds since the epoch. */
  at: number;
  problems: ConfigProblem[];
}

export interface Reloader {
  /** Builds the next program and swaps it in, or throws a `ConfigError` and keeps the old one. */
  reload(): Promise<void>;
  /** Why the last reload failed; undefined if it succeeded. */
  lastFailure(): ReloadFailure | undefined;
  /** Does not wait for a build in progress: its program is dropped. */
  close(): Promise<void>;
}

export interface ReloaderOptions {
  /** The program in use. */
  current(): Program;
  build(generation: number): Promise<Program>;
  /** Reload when a file changes. */
  watch: boolean;
  /** Called with each program that is now in use, and with why another is not. */
  replaced(program: Program): void;
  refused(failure: ReloadFailure): void;
  telemetry: Pick<Telemetry, "log" | "reloaded">;
}

/** How many changed files the log names. */
const MAX_NAMED = 3;

/** Keeps one immutable program in use, and replaces it as a whole. */
export function createReloader({ current, build, watch, replaced, refused, telemetry }: ReloaderOptions): Reloader {
  const { log } = telemetry;
  const first = current();
  let failure: ReloadFailure | undefined;
  let readAt = first.readAt;
  let building: Promise<void> | undefined;
  let changedMeanwhile: string | undefined;
  let closed = false;
  const stateDir = first.config.store.path;
  const watcher = watch ? createWatcher({ since: () => readAt, changed: onChange, stateDir, log }) : undefined;
  watcher?.follow(first.files);
  logWarnings(first);

  return {
    reload: () => reload(),
    lastFailure: () => failure,
    async close() {
      closed = true;
      if (building) stopEsbuild("the service was closed");
      await watcher?.close();
    },
  };

  /** One build at a time. */
  async function reload(changed?: string): Promise<void> {
    const mine = (building ?? Promise.resolve()).catch(() => undefined).then(() => replace(changed));
    building = mine;
    try {
      await mine;
    } finally {
      if (building === mine) building = undefined;
    }
  }

  async function replace(changed: string | undefined): Promise<void> {
    readAt = Date.now();
    const { generation, agent } = current();
    try {
      const next = await build(generation + 1);
      if (closed) {
        next.agent.close?.();
        throw new Error("the service was closed during the reload");
      }
      agent.close?.();
      const program = { ...next, warnings: [...next.warnings, ...findRestartRequired(first.config, next.config)] };
      failure = undefined;
      watcher?.follow(program.files);
      replaced(program);
      telemetry.reloaded({ generation: program.generation, changed, ms: Date.now() - readAt, problems: [] });
      logWarnings(program);
    } catch (error) {
      if (closed) throw error;
      const problems = error instanceof ConfigError ? error.problems : [{ message: String(error) }];
      failure = { at: Date.now(), problems };
      telemetry.reloaded({ generation, changed, ms: Date.now() - readAt, problems });
      refused(failure);
      throw error;
    }
  }

  function logWarnings({ warnings }: Program): void {
    for (const warning of warnings) log.warn("configuration", { warning: toSentence(warning) });
  }

  /** A change during a build asks for another build after it. */
  function onChange(changedFiles: string[]): void {
    // Samples stand beside the transforms, and are not served.
    const files = changedFiles.filter((file) => !/\.samples(\/|$)/.test(file));
    if (files.length === 0) return;
    const { baseDir } = current().config;
    const named = files.slice(0, MAX_NAMED).map((file) => path.relative(baseDir, file));
    const changed = [...named, ...(files.length > MAX_NAMED ? ["…"] : [])].join(", ");
    if (building) changedMeanwhile = changed;
    else void reloadUntilCurrent(changed);
  }

  async function reloadUntilCurrent(cause: string): Promise<void> {
    for (let changed: string | undefined = cause; changed !== undefined; changed = changedMeanwhile) {
      changedMeanwhile = undefined;
      await reload(changed).catch(() => undefined);
    }
  }
}

/** What is read only at the start: the socket, the state folder, the log. */
const FIXED: Record<string, (config: ResolvedConfig) => unknown> = {
  "gateway.host": ({ gateway }) => gateway.host,
  "gateway.port": ({ gateway }) => gateway.port,
  "gateway.trustedProxies": ({ gateway }) => gateway.trustedProxies,
  "store.path": ({ store }) => store.path,
  "log.level": ({ log }) => log.level,
};

/** Warns of every key that differs from its value at the start, and takes effect only at the next one. */
function findRestartRequired(started: ResolvedConfig, now: ResolvedConfig): ConfigProblem[] {
  return Object.entries(FIXED)
    .filter(([, read]) => !isDeepStrictEqual(read(started), read(now)))
    .map(([key]) => ({ file: now.file, key, message: "was changed, which takes effect at the next start" }));
}
