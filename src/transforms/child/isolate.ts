import ivm from "isolated-vm";
import { messageOf } from "../../errors.ts";
import type { LogLine } from "../../types.ts";
import type { Enter } from "../realm/call.ts";
import { REALM_GLOBAL } from "../realm/harden.ts";
import type { FailedAnswer } from "../sandbox/answer.ts";
import { BUNDLE_FILE, type ModuleHead } from "../sandbox/protocol.ts";
import { runHostOperation } from "./host-operations.ts";

interface IsolateJob {
  operation: "call" | "check";
  text: string;
  body: string;
  timeoutMs: number;
}

/** The modules of a child process. Each version of a module has its own isolate, created at its first job. */
export interface Modules {
  load(head: ModuleHead, code: string): void;
  unload(module: string): void;
  /** Runs a job and gives an `Answer` as JSON. Never throws. */
  run(module: string, job: IsolateJob): string;
}

interface LoadedModule {
  head: ModuleHead;
  code: string;
  isolate?: ModuleIsolate;
}

export function createModules(realmCode: string): Modules {
  const modules = new Map<string, LoadedModule>();
  return {
    load: (head, code) => void modules.set(head.module, { head, code }),
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
    return crashed(messageOf(error));
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

export interface ModuleIsolate {
  /** Runs synchronously on this thread; gives an `Answer` as JSON. */
  run(job: IsolateJob): string;
  /** False after a timeout or an exceeded memory limit. */
  isUsable(): boolean;
  dispose(): void;
}

/** A realm that a transform can be called in. */
interface Room {
  context: ivm.Context;
  enter: ivm.Reference<Enter>;
}

/** Throws if the code does not compile or the realm cannot be set up. */
export function createModuleIsolate(head: ModuleHead, code: string, realmCode: string): ModuleIsolate {
  const isolate = new ivm.Isolate({ memoryLimit: Math.max(8, head.memoryMb), onCatastrophicError: abort });
  const realm = isolate.compileScriptSync(realmCode, { filename: "hookline:realm" });
  const bundle = isolate.compileScriptSync(wrap(code), { filename: BUNDLE_FILE, lineOffset: -1 });
  let shared: Room | undefined;
  let usable = true;

  return {
    isUsable: () => usable && !isolate.isDisposed,
    run(job) {
      const room = shared ?? openRoom();
      if (!head.strict) shared = room;
      try {
        return enterRoom(room, job);
      } catch (error) {
        usable = false;
        return JSON.stringify(toAnswer(error, isolate.isDisposed ? [] : rescueLog(room), job.timeoutMs));
      } finally {
        if (head.strict && !isolate.isDisposed) closeRoom(room);
      }
    },
    dispose() {
      if (!isolate.isDisposed) isolate.dispose();
    },
  };

  function openRoom(): Room {
    const context = isolate.createContextSync();
    realm.runSync(context);
    bundle.runSync(context);
    const enter: ivm.Reference<Enter> = context.evalClosureSync(
      `return ${REALM_GLOBAL}.seal($0, $1, $2)`,
      [runHostOperation, head.export, !head.strict],
      { result: { reference: true } },
    );
    return { context, enter };
  }
}

/** V8 has lost control of an isolate, so the process must end. The supervisor starts another one. */
function abort(): never {
  process.abort();
}

/** The script's value must not be a function: its context could then never be freed. */
function wrap(code: string): string {
  return `${REALM_GLOBAL}.define(function (module, exports, globalThis) { "use strict";\n${code}\n});0`;
}

function closeRoom({ context, enter }: Room): void {
  enter.release();
  context.release();
}

/** Promises settle in the microtasks that run between the first entry and the second, or never. */
function enterRoom({ enter }: Room, { operation, text, body, timeoutMs }: IsolateJob): string {
  const deadline = performance.now() + timeoutMs;
  const answer = enter.applySync(undefined, [operation, text, body], { timeout: timeUntil(deadline) });
  return answer || enter.applySync(undefined, ["settle", "", ""], { timeout: timeUntil(deadline) });
}

/** In whole milliseconds, at least 1, because 0 would mean no limit. */
function timeUntil(deadline: number): number {
  return Math.max(1, Math.ceil(deadline - performance.now()));
}

/** What the call logged before it was stopped; empty if the isolate no longer answers. */
function rescueLog({ enter }: Room): LogLine[] {
  try {
    const log: LogLine[] = JSON.parse(enter.applySync(undefined, ["log", "", ""], { timeout: 20 }));
    return log;
  } catch {
    return [];
  }
}

function toAnswer(error: unknown, log: LogLine[], timeoutMs: number): FailedAnswer {
  const message = messageOf(error);
  if (message.includes("timed out")) {
    return { kind: "timeout", message: `The transform ran longer than ${timeoutMs} ms.`, log };
  }
  if (message.includes("memory limit")) {
    return { kind: "memory", message: "The transform exceeded its memory limit.", log };
  }
  return { kind: "crashed", message: `The sandbox failed: ${message}`, log };
}
