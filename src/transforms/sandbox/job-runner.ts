import type { FailedAnswer } from "./answer.ts";
import { createModuleIsolate, type IsolateJob, type ModuleIsolate } from "./isolate.ts";
import type { ModuleHead } from "./protocol.ts";

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
