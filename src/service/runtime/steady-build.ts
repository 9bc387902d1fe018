import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ConfigError } from "../../core/errors.ts";
import type { Runtime } from "../../core/ports/runtime.ts";
import { CLOCK_SLACK_MS } from "../../core/shared/system/files.ts";
import { untilAborted } from "../../core/shared/time.ts";
import type { Log } from "../../core/telemetry/log.ts";
import { isCode } from "../../core/transforms/source-boundary.ts";
import { findChanged, MISSING, readState, type Snapshot, takeSnapshot } from "./snapshot.ts";

/** How often in a row a runtime is built anew because files changed meanwhile. */
const MAX_REBUILDS = 3;
/** Before the first of them, so that a save of several files is complete and its events are here. Doubles with each. */
const PAUSE_MS = 80;
/** After a failed build: a file that was met half written is whole after this. */
const REREAD_MS = 50;
/** A build that takes longer is in the log, and a newer save ends it. */
const SLOW_MS = 1000;
/** How many files a message names. */
const MAX_NAMED = 3;

/** Files changed each time while they were read, so that some may be older than others. */
export class FilesKeepChanging extends ConfigError {
  constructor(changed: string[], files: string[]) {
    const names = changed.slice(0, MAX_NAMED).map((file) => path.basename(file));
    const more = changed.length > MAX_NAMED ? ` and ${changed.length - MAX_NAMED} more` : "";
    const message = `These files changed each time while they were read: ${names.join(", ")}${more}. To replace several files at once, swap a link to their folder.`;
    super([{ message }], files);
  }
}

export interface SteadyBuildOptions {
  /** The runtime in use at the start. */
  first: Runtime;
  build(generation: number, signal: AbortSignal): Promise<Runtime>;
  /** Called with the time before each build reads its files. */
  starts(at: number): void;
  log: Log;
}

export interface SteadyBuild {
  /**
   * Builds a runtime whose files are all of one moment: what changed meanwhile is built anew. `known`: the files that it
   * probably reads. Throws what the last build threw, or `FilesKeepChanging`.
   */
  run(generation: number, options: { known: Iterable<string>; changed: string | undefined }): Promise<Runtime>;
  /** A newer save ends a build that takes long. */
  newerSave(): void;
  /** Whether a file has changed since the last build read it. Undefined: that cannot be known. */
  isStale(file: string): boolean | undefined;
  /** Whether it is shorter than in the runtime in use, and the first half of such a file is valid too. */
  isCut(file: string): boolean;
  /** No build follows. */
  close(): void;
}

export function createSteadyBuild({ first, build, starts, log }: SteadyBuildOptions): SteadyBuild {
  /** Before the start, files may have changed after they were read. */
  let inUse = olderThan(first.readAt - CLOCK_SLACK_MS, takeSnapshot(first.files));
  let lastRead = inUse;
  let current: Attempt | undefined;
  let closed = false;

  return {
    async run(generation, { known, changed }) {
      let files = [...known];
      /** The file that alone changed during the build before. */
      let restless: string | undefined;
      for (let rebuilds = 0; ; rebuilds++) {
        const before = takeSnapshot(files);
        const since = Date.now();
        starts(since);
        const outcome = await attempt(generation, changed);
        if (closed) {
          if (outcome?.runtime) drop(outcome.runtime);
          throw outcome?.error ?? new Error("the service was closed during the reload");
        }
        if (!outcome) continue;
        const { runtime, error } = outcome;
        if (!runtime) await sleep(REREAD_MS);
        files = [...new Set([...files, ...(runtime?.files ?? filesOf(error))])];
        const after = takeSnapshot(files);
        lastRead = new Map([...olderThan(since, after), ...before]);
        const meanwhile = findChanged(before, after, since);
        const [only, ...others] = meanwhile;
        // A file that some program writes all the time does not keep others from being used.
        const isRestless = rebuilds === MAX_REBUILDS && others.length === 0 && only === restless;
        restless = others.length === 0 ? only : undefined;
        if (runtime && (isRestless || isWhole(meanwhile, after))) {
          inUse = lastRead;
          return runtime;
        }
        if (runtime) drop(runtime);
        else if (closed || meanwhile.length === 0 || rebuilds === MAX_REBUILDS) throw error;
        if (rebuilds === MAX_REBUILDS) throw new FilesKeepChanging(meanwhile, files);
        await sleep(PAUSE_MS * 2 ** rebuilds);
      }
    },
    newerSave() {
      if (!current) return;
      current.hasNewer = true;
      if (current.isSlow) current.controller.abort();
    },
    isStale(file) {
      const known = lastRead.get(file);
      return !known || known.isFresh ? undefined : known.stamp !== readState(file).stamp;
    },
    isCut(file) {
      const now = readState(file);
      return !showsItsEnd(file) && now !== MISSING && now.size < (inUse.get(file)?.size ?? 0);
    },
    close: () => void (closed = true),
  };

  /** undefined: a newer save ended it. */
  async function attempt(generation: number, changed: string | undefined): Promise<Outcome | undefined> {
    const mine: Attempt = { controller: new AbortController(), isSlow: false, hasNewer: false };
    const { signal } = mine.controller;
    const timer = setTimeout(() => {
      log.warn("a reload takes long", { step: "reload", changed, ms: SLOW_MS });
      mine.isSlow = true;
      if (mine.hasNewer) mine.controller.abort();
    }, SLOW_MS);
    current = mine;
    try {
      const building = build(generation, signal);
      signal.addEventListener("abort", () => void building.then(drop, () => undefined));
      return { runtime: await untilAborted(building, signal) };
    } catch (error) {
      if (!signal.aborted) return { error };
      log.info("a newer save ended a reload", { step: "reload", changed });
      return undefined;
    } finally {
      clearTimeout(timer);
      current = undefined;
    }
  }

  /** With one file alone that differs from the runtime in use, either of its texts fits all others. */
  function isWhole(meanwhile: string[], now: Snapshot): boolean {
    return meanwhile.length === 0 || new Set([...meanwhile, ...findChanged(inUse, now, 0)]).size === 1;
  }
}

interface Attempt {
  controller: AbortController;
  isSlow: boolean;
  hasNewer: boolean;
}

type Outcome = { runtime: Runtime; error?: undefined } | { runtime?: undefined; error: unknown };

/** Closes what only it uses. */
function drop({ agent, tools }: Runtime): void {
  agent.close?.();
  tools.close();
}

function filesOf(error: unknown): string[] {
  return error instanceof ConfigError ? error.files : [];
}

function olderThan(time: number, snapshot: Snapshot): Snapshot {
  return new Map([...snapshot].filter(([, { changedAt }]) => changedAt < time));
}

/** A half of code or JSON is an error. A half of YAML, of a secret or of a template is not. */
function showsItsEnd(file: string): boolean {
  return isCode(file) || [".json5", ".jsonc"].includes(path.extname(file));
}
