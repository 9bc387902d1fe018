import ivm from "isolated-vm";
import { messageOf } from "../../errors.ts";
import type { LogLine } from "../../types.ts";
import { describeThrown } from "../realm/thrown.ts";
import type { FailedAnswer } from "../sandbox/answer.ts";

/** An isolate takes 1 MB, and each realm in it another 0.4 MB. A failure costs all modules in it their realms. */
const MAX_MODULES = 16;
/** What the realms of the other modules in it take at most. */
const OTHERS_MB = 16;

/** An isolate in which several modules have their realms. They share its memory limit, and no object. */
export interface SharedIsolate {
  isolate: ivm.Isolate;
  realmScript: ivm.Script;
  memoryMb: number;
  /** How many are in it, or will be the next time they run. */
  modules: number;
  /** How many realms were ever created in it. */
  realms: number;
  /** No job has left garbage since the last collection. */
  isSwept: boolean;
}

export interface Isolates {
  /** Finds or creates an isolate with this limit. A module that has failed gets one alone. */
  enter(memoryMb: number, alone: boolean): SharedIsolate;
}

export function createIsolates(realmCode: string): Isolates {
  let shared: SharedIsolate[] = [];

  function create(memoryMb: number, limitMb: number): SharedIsolate {
    const isolate = new ivm.Isolate({ memoryLimit: Math.max(8, limitMb), onCatastrophicError: abort });
    const realmScript = isolate.compileScriptSync(realmCode, { filename: "hookline:realm" });
    return { isolate, realmScript, memoryMb, modules: 1, realms: 0, isSwept: true };
  }

  return {
    enter(memoryMb, alone) {
      if (alone) return create(memoryMb, memoryMb);
      shared = shared.filter(({ isolate }) => !isolate.isDisposed);
      const home = shared.find((each) => each.memoryMb === memoryMb && each.modules < MAX_MODULES);
      if (home) {
        home.modules++;
        return home;
      }
      const created = create(memoryMb, memoryMb + OTHERS_MB);
      shared.push(created);
      return created;
    },
  };
}

/** V8 has lost control of an isolate, so the process must end. The supervisor starts another one. */
function abort(): never {
  process.abort();
}

interface Attempt {
  log: LogLine[];
  timeoutMs: number;
  /** The module's code ran, and its isolate still exists. */
  isEntered: boolean;
}

/** The answer to a job that ended its isolate. */
export function toFailure(error: unknown, { log, timeoutMs, isEntered }: Attempt): FailedAnswer {
  const message = messageOf(error);
  if (message === "Script execution timed out.") {
    return { kind: "timeout", message: `The transform ran longer than ${timeoutMs} ms.`, log };
  }
  // The realm catches what a transform throws, so this is a promise that was rejected and that nobody awaits.
  if (isEntered) return { kind: "threw", ...describeThrown(error), log };
  if (message.includes("memory limit")) {
    return { kind: "memory", message: "The transform exceeded its memory limit.", log };
  }
  return crashed(message, log);
}

export function crashed(reason: string, log: LogLine[]): FailedAnswer {
  return { kind: "crashed", message: `The sandbox could not run the transform: ${reason}`, log };
}
