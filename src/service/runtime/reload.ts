import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { ResolvedConfig } from "../../core/config/resolved-config.ts";
import { ConfigError, type ConfigProblem, toSentence } from "../../core/errors.ts";
import type { ReloadFailure, Runtime } from "../../core/ports/runtime.ts";
import { statIfAny } from "../../core/shared/system/files.ts";
import { backoffMs } from "../../core/shared/time.ts";
import type { Telemetry } from "../../core/telemetry/telemetry.ts";
import { stopEsbuild } from "../../core/transforms/esbuild.ts";
import { isCode } from "../../core/transforms/source-boundary.ts";
import { createSteadyBuild, FilesKeepChanging } from "./steady-build.ts";
import { createWatcher } from "./watch.ts";

/** The cause of a runtime that replaces another, or of a failure. */
export interface ReloadCause {
  /** The files that had changed, relative to the configuration's folder, or who asked; undefined: a program did. */
  changed: string | undefined;
  /** How long it took. */
  ms: number;
}

export interface Reloader {
  /** Builds the next runtime and swaps it in, or throws a `ConfigError` and keeps the old one. `cause`: for the log. */
  reload(cause?: string): Promise<void>;
  /** Why the last reload failed; undefined if it succeeded. */
  lastFailure(): ReloadFailure | undefined;
  /** Does not wait for a build in progress: its runtime is dropped. */
  close(): Promise<void>;
}

export interface ReloaderOptions {
  /** The runtime in use. */
  current(): Runtime;
  /** `signal`: its result is not wanted any more. */
  build(generation: number, signal: AbortSignal): Promise<Runtime>;
  /** Reload when a file changes. */
  watch: boolean;
  /** Called with each runtime that is now in use, and with why another is not. */
  replaced(runtime: Runtime, cause: ReloadCause): void;
  refused(failure: ReloadFailure, cause: ReloadCause): void;
  telemetry: Telemetry;
}

/** A reload that failed for a reason that passes is tried again, half of the first pause to the whole of the last one later. */
const RETRY = { firstMs: 1000, maxMs: 60_000 };

/** The machine has too few file handles or too little memory, or a disk does not answer. */
const PASSING = /\b(?:EMFILE|ENFILE|EIO|ENOMEM|EAGAIN)\b/;

/** Each error of the system begins with its code, also in the message of a problem. */
function passes(error: unknown): boolean {
  return error instanceof FilesKeepChanging || PASSING.test(String(error));
}

/** How many changed files the log names. */
const MAX_NAMED = 3;

/** Keeps one immutable runtime in use, and replaces it as a whole. */
export function createReloader({ current, build, watch, replaced, refused, telemetry }: ReloaderOptions): Reloader {
  const { log, activity } = telemetry;
  const first = current();
  let failure: ReloadFailure | undefined;
  let readAt = first.readAt;
  let building: Promise<void> | undefined;
  let changedMeanwhile: string | undefined;
  let closed = false;
  /** How many reloads in a row failed for a reason that passes, and when the next is tried. */
  let failures = 0;
  let retry: NodeJS.Timeout | undefined;
  const stateDir = first.config.store.path;
  const steady = createSteadyBuild({
    first,
    build,
    starts(at) {
      readAt = at;
      changedMeanwhile = undefined;
    },
    log,
  });
  const { isStale, isCut } = steady;
  const watcher = watch
    ? createWatcher({ since: () => readAt, isStale, isCut, changed: onChange, isRelevant, stateDir, log })
    : undefined;
  /** Folders of the last configuration that could be read. */
  let { parts } = first;
  let followed = [...first.files, ...parts.folders];
  watcher?.follow(followed);
  logWarnings(first);

  return {
    reload,
    lastFailure: () => failure,
    async close() {
      closed = true;
      clearTimeout(retry);
      steady.close();
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
      if (building === mine) {
        building = undefined;
        reloadChanged();
      }
    }
  }

  async function replace(changed: string | undefined): Promise<void> {
    clearTimeout(retry);
    const startedAt = Date.now();
    const { generation, agent, tools, warnings } = current();
    try {
      const next = await steady.run(generation + 1, { known: followed, changed });
      agent.close?.();
      tools.close();
      const runtime = {
        ...next,
        // The role changes only at the next start, for requests and execution together.
        config: { ...next.config, gateway: { ...next.config.gateway, role: first.config.gateway.role } },
        warnings: [...next.warnings, ...findRestartRequired(first.config, next)],
      };
      failure = undefined;
      failures = 0;
      parts = runtime.parts;
      follow([...runtime.files, ...parts.folders]);
      const cause = { changed, ms: Date.now() - startedAt };
      replaced(runtime, cause);
      activity.reloaded(true);
      log.info("reloaded", { step: "reload", generation: runtime.generation, ...cause });
      logWarnings(runtime, warnings);
    } catch (error) {
      if (closed) throw error;
      const {
        problems,
        files,
        parts: places = parts,
      } = error instanceof ConfigError ? error : new ConfigError([{ message: String(error) }]);
      // New files too: a change there may fix the problems. A folder in place of a file may be large.
      const others = files.filter((file) => statIfAny(file)?.isDirectory() !== true);
      parts = places;
      follow([...new Set([...current().files, ...others, ...parts.folders])], { polls: true });
      failure = { at: Date.now(), problems };
      activity.reloaded(false);
      for (const problem of problems) {
        log.error("reload refused", { step: "reload", problem: toSentence(problem), excerpt: problem.excerpt });
      }
      refused(failure, { changed, ms: Date.now() - startedAt });
      failures = passes(error) ? failures + 1 : 0;
      if (watch && failures > 0) retry = setTimeout(tryAgain, backoffMs(failures, RETRY), changed).unref();
      throw error;
    }
  }

  function follow(files: string[], options?: { polls: boolean }): void {
    followed = files;
    watcher?.follow(files, options);
  }

  function tryAgain(changed: string | undefined): void {
    if (!building) void reload(changed).catch(() => undefined);
  }

  /** Logs what the last configuration had not. */
  function logWarnings({ warnings }: Runtime, known: ConfigProblem[] = []): void {
    const sentences = new Set(known.map(toSentence));
    for (const warning of warnings.map(toSentence)) {
      if (!sentences.has(warning)) log.warn("configuration", { warning });
    }
  }

  /**
   * A part of the configuration. In the folder of the transforms: modules, because a new one can change what an import means.
   * JSON only if it was read, or if it could be what the last build did not find. Samples and declarations are not served.
   */
  function isRelevant(file: string): boolean {
    if (parts.isPart(file)) return true;
    if (/\.samples(\/|$)|\.d\.[cm]?ts$/.test(file)) return false;
    return isCode(file) && (failure !== undefined || path.extname(file) !== ".json");
  }

  /** A change during a build asks for another build after it. */
  function onChange(changedFiles: string[]): void {
    // Events may come after the build that has read what they are about.
    if (changedFiles.every((file) => isStale(file) === false)) return;
    const { baseDir } = current().config;
    const named = changedFiles.slice(0, MAX_NAMED).map((file) => path.relative(baseDir, file));
    changedMeanwhile = [...named, ...(changedFiles.length > MAX_NAMED ? ["…"] : [])].join(", ");
    if (building) steady.newerSave();
    else reloadChanged();
  }

  function reloadChanged(): void {
    const changed = changedMeanwhile;
    changedMeanwhile = undefined;
    if (changed !== undefined && !closed) void reload(changed).catch(() => undefined);
  }
}

/** Keys that are read only at the start: the socket, the node's role, the store, the log. */
const FIXED: Record<string, (config: ResolvedConfig) => unknown> = {
  "gateway.host": ({ gateway }) => gateway.host,
  "gateway.port": ({ gateway }) => gateway.port,
  "gateway.role": ({ gateway }) => gateway.role,
  "gateway.trustedProxies": ({ gateway }) => gateway.trustedProxies,
  "store.path": ({ store }) => store.path,
  "store.url": ({ store }) => withoutPassword(store.postgres?.url),
  "log.level": ({ log }) => log.level,
};

/** The same of a database, if it had one at the start and still has one. */
const FIXED_OF_DATABASE: typeof FIXED = {
  "store.leaseUrl": ({ store }) => withoutPassword(store.postgres?.leaseUrl),
  "store.password": ({ store }) => store.postgres && new URL(store.postgres.url).password,
  "store.maxConnections": ({ store }) => store.postgres?.maxConnections,
  "store.commitTimeout": ({ store }) => store.postgres?.commitTimeoutMs,
};

function withoutPassword(url: string | undefined): string | undefined {
  return url && Object.assign(new URL(url), { password: "" }).href;
}

/** Warns of every key that differs from its value at the start, and takes effect only at the next one. */
function findRestartRequired(started: ResolvedConfig, { config: now, place }: Runtime): ConfigProblem[] {
  const message = "This setting was changed, which takes effect at the next start.";
  const keys = started.store.postgres && now.store.postgres ? { ...FIXED, ...FIXED_OF_DATABASE } : FIXED;
  return Object.entries(keys)
    .filter(([, read]) => !isDeepStrictEqual(read(started), read(now)))
    .map(([key]) => place({ file: now.file, key, message }));
}
