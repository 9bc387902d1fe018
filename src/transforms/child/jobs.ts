import type { FailedAnswer } from "../sandbox/answer.ts";
import type { Job } from "../sandbox/job.ts";
import type { ModuleHead } from "../sandbox/protocol.ts";
import { createModuleIsolate, type IsolateJob, type ModuleIsolate } from "./isolate.ts";

/** Keeps the modules of a child, each in an isolate, and runs jobs for them. */
export interface JobRunner {
  load(head: ModuleHead, code: string): void;
  unload(module: string): void;
  /** Gives the JSON of an `Answer`, whatever happens. */
  run(module: string, job: IsolateJob): string;
}

interface LoadedModule {
  head: ModuleHead;
  code: string;
  /** Made at the first job, and again after it was spoilt. */
  isolate: ModuleIsolate | undefined;
}

export function createJobRunner(realmCode: string): JobRunner {
  const modules = new Map<string, LoadedModule>();
  return {
    load(head, code) {
      modules.set(head.module, { head, code, isolate: undefined });
    },
    unload(module) {
      modules.get(module)?.isolate?.dispose();
      modules.delete(module);
    },
    run(module, job) {
      const loaded = modules.get(module);
      return loaded ? runJob(loaded, realmCode, job) : crashed("its code is not loaded.");
    },
  };
}

function runJob(loaded: LoadedModule, realmCode: string, job: IsolateJob): string {
  try {
    loaded.isolate ??= createModuleIsolate(loaded.head, loaded.code, realmCode);
    return loaded.isolate.run(job);
  } catch (error) {
    return crashed(error instanceof Error ? error.message : String(error));
  } finally {
    if (loaded.isolate?.isUsable() === false) {
      loaded.isolate.dispose();
      loaded.isolate = undefined;
    }
  }
}

function crashed(reason: string): string {
  const message = `The sandbox could not run the transform: ${reason}`;
  return JSON.stringify({ kind: "crashed", message, log: [] } satisfies FailedAnswer);
}

const IDLE_MS = 10 * 60_000;

/** Which modules a child holds, the one used longest ago first. */
export interface LoadedModules {
  /** Notes the use; true where the child does not hold the module yet. */
  use(module: string, now: number): boolean;
  count(): number;
  /** Modules that have to go: more than `maxModules`, or not used for long. The newest always stays. */
  takeSurplus(now: number): string[];
}

export function createLoadedModules(maxModules: number): LoadedModules {
  const usedAt = new Map<string, number>();
  return {
    use(module, now) {
      const isNew = !usedAt.delete(module);
      usedAt.set(module, now);
      return isNew;
    },
    count: () => usedAt.size,
    takeSurplus(now) {
      const surplus = [...usedAt].filter(([, at], place) => at < now - IDLE_MS || place < usedAt.size - maxModules);
      for (const [module] of surplus) usedAt.delete(module);
      return surplus.map(([module]) => module);
    },
  };
}

/** What a child has to know of a job's module. */
export function toModuleHead({ module, bundle: { spec } }: Job): ModuleHead {
  return {
    module,
    memoryMb: spec.memoryMb,
    strict: spec.isolation === "strict",
    ...(spec.export === undefined ? {} : { export: spec.export }),
  };
}
