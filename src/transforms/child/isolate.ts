import ivm from "isolated-vm";
import type { LogLine } from "../../types.ts";
import type { Enter } from "../realm/call.ts";
import { REALM_GLOBAL } from "../realm/harden.ts";
import type { FailedAnswer } from "../sandbox/answer.ts";
import { BUNDLE_FILE, type ModuleHead } from "../sandbox/protocol.ts";
import { runHostOperation } from "./host-operations.ts";

/** A job for a module: the names of `Enter`, and what goes with them. */
export interface IsolateJob {
  operation: "call" | "check";
  text: string;
  body: string;
  timeoutMs: number;
}

/** One version of a module in an isolate of its own. */
export interface ModuleIsolate {
  /** Runs to the end, on this thread; gives the JSON of an `Answer`. */
  run(job: IsolateJob): string;
  /** False once a timeout or the memory limit has spoilt it: it must be disposed of. */
  isUsable(): boolean;
  dispose(): void;
}

interface Scripts {
  isolate: ivm.Isolate;
  realm: ivm.Script;
  bundle: ivm.Script;
  exportName: string | undefined;
  /** True where several calls are to run in one realm. */
  shared: boolean;
}

/** A realm that is ready to be entered. */
interface Room {
  context: ivm.Context;
  enter: ivm.Reference<Enter>;
}

/** Throws where the code does not compile or the realm cannot be set up. */
export function createModuleIsolate(head: ModuleHead, code: string, realmCode: string): ModuleIsolate {
  const isolate = new ivm.Isolate({ memoryLimit: Math.max(8, head.memoryMb), onCatastrophicError: abort });
  const scripts: Scripts = {
    isolate,
    realm: isolate.compileScriptSync(realmCode, { filename: "hookline:realm" }),
    bundle: isolate.compileScriptSync(wrap(code), { filename: BUNDLE_FILE, lineOffset: -1 }),
    exportName: head.export,
    shared: !head.strict,
  };
  let kept: Room | undefined;
  let usable = true;

  return {
    isUsable: () => usable && !isolate.isDisposed,
    run(job) {
      const room = kept ?? openRoom(scripts);
      if (!head.strict) kept = room;
      try {
        return runIn(room, job);
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
}

/** V8 has lost control of an isolate: the whole process is to be thrown away, and the supervisor starts another. */
function abort(): never {
  process.abort();
}

/** The value of a script must not be a function: its context could never be freed. */
function wrap(code: string): string {
  return `${REALM_GLOBAL}.define(function (module, exports, globalThis) { "use strict";\n${code}\n});0`;
}

function openRoom({ isolate, realm, bundle, exportName, shared }: Scripts): Room {
  const context = isolate.createContextSync();
  realm.runSync(context);
  bundle.runSync(context);
  const enter: ivm.Reference<Enter> = context.evalClosureSync(
    `return ${REALM_GLOBAL}.seal($0, $1, $2)`,
    [runHostOperation, exportName, shared],
    { result: { reference: true } },
  );
  return { context, enter };
}

function closeRoom({ context, enter }: Room): void {
  enter.release();
  context.release();
}

/** A pending promise is settled by the microtasks, which run between one entry and the next, or by nothing at all. */
function runIn({ enter }: Room, { operation, text, body, timeoutMs }: IsolateJob): string {
  const deadline = performance.now() + timeoutMs;
  const answer = enter.applySync(undefined, [operation, text, body], { timeout: timeUntil(deadline) });
  return answer || enter.applySync(undefined, ["settle", "", ""], { timeout: timeUntil(deadline) });
}

/** In whole milliseconds, at least one: zero would mean no limit. */
function timeUntil(deadline: number): number {
  return Math.max(1, Math.ceil(deadline - performance.now()));
}

/** What the call had logged before it was stopped; nothing where the isolate no longer answers. */
function rescueLog({ enter }: Room): LogLine[] {
  try {
    const log: LogLine[] = JSON.parse(enter.applySync(undefined, ["log", "", ""], { timeout: 20 }));
    return log;
  } catch {
    return [];
  }
}

function toAnswer(error: unknown, log: LogLine[], timeoutMs: number): FailedAnswer {
  const message = error instanceof Error ? error.message : String(error);
  if (message.includes("timed out")) {
    return { kind: "timeout", message: `The transform ran longer than ${timeoutMs} ms.`, log };
  }
  if (message.includes("memory limit")) {
    return { kind: "memory", message: "The transform needed more memory than it may have.", log };
  }
  return { kind: "crashed", message: `The sandbox could not go on: ${message}`, log };
}
