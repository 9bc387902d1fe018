import ivm from "isolated-vm";
import { messageOf } from "../../errors.ts";
import type { LogLine } from "../../types.ts";
import type { Enter } from "../realm/call.ts";
import { REALM_GLOBAL } from "../realm/harden.ts";
import { describeThrown } from "../realm/thrown.ts";
import type { FailedAnswer } from "../sandbox/answer.ts";
import { BUNDLE_FILE, type ModuleOptions, TOGETHER_MS } from "../sandbox/protocol.ts";
import { runHostOperation } from "./host-operations.ts";

/** One check, one call, or calls to be made together. */
interface IsolateJobs {
  operation: "call" | "check";
  /** A JSON array. */
  inputs: string;
  bodies: string[];
  timeoutMs: number;
}

/** The modules of a child process. */
export interface Modules {
  load(options: ModuleOptions, code: string): void;
  unload(module: string): void;
  /** Gives the `Answer`s as a JSON array; undefined if the calls cannot be made together. Never throws. */
  run(module: string, jobs: IsolateJobs): string | undefined;
  /** Collects the bodies of earlier jobs once they are many: to V8's own collector they look like small objects. */
  sweep(): void;
}

/** Of all isolates together, in UTF-16 code units. */
const MAX_GARBAGE_LENGTH = 8 * 1024 * 1024;

export function createModules(realmCode: string): Modules {
  const modules = new Map<string, ModuleIsolate>();
  let garbageLength = 0;
  return {
    load: (options, code) => void modules.set(options.module, createModuleIsolate(options, code, realmCode)),
    unload(module) {
      modules.get(module)?.dispose();
      modules.delete(module);
    },
    run(module, jobs) {
      const isolate = modules.get(module);
      for (const body of jobs.bodies) garbageLength += body.length;
      return isolate
        ? isolate.run(jobs)
        : JSON.stringify(jobs.bodies.map(() => crashed("the module is not loaded", [])));
    },
    sweep() {
      if (garbageLength < MAX_GARBAGE_LENGTH) return;
      garbageLength = 0;
      for (const isolate of modules.values()) isolate.sweep();
    },
  };
}

/** One version of a module in its own isolate, which is created at the first job and again after a failure. */
export interface ModuleIsolate {
  /** Runs synchronously on this thread. See `Modules`. */
  run(jobs: IsolateJobs): string | undefined;
  /** Collects the garbage of the jobs since the last time. */
  sweep(): void;
  dispose(): void;
}

interface OpenIsolate {
  isolate: ivm.Isolate;
  realmScript: ivm.Script;
  bundleScript: ivm.Script;
  /** The realm of all jobs; with strict isolation each job has its own. */
  shared?: RealmContext;
}

/** A realm that a transform can be called in. */
interface RealmContext {
  context: ivm.Context;
  enter: ivm.Reference<Enter>;
}

export function createModuleIsolate(options: ModuleOptions, code: string, realmCode: string): ModuleIsolate {
  let opened: OpenIsolate | undefined;
  let isSwept = true;
  return { run, sweep, dispose };

  function run(jobs: IsolateJobs): string | undefined {
    const isOne = jobs.bodies.length === 1;
    isSwept = false;
    let realm: RealmContext | undefined;
    try {
      opened ??= openIsolate(options, code, realmCode);
      realm = opened.shared ?? createRealm(opened, options);
      if (!options.strict) opened.shared = realm;
      return isOne ? enterRealm(realm, jobs) : enterTogether(realm, jobs);
    } catch (error) {
      // Whichever of several calls failed: each is made again alone.
      if (!isOne) return dispose();
      const isEntered = realm !== undefined && opened?.isolate.isDisposed === false;
      const log = isEntered ? rescueLog(realm!) : [];
      dispose();
      return JSON.stringify([toAnswer(error, log, jobs.timeoutMs, isEntered)]);
    } finally {
      if (opened?.isolate.isDisposed) opened = undefined;
      if (options.strict && opened && realm) releaseRealm(realm);
    }
  }

  function sweep(): void {
    if (isSwept) return;
    isSwept = true;
    if (!opened?.shared) return dispose();
    try {
      opened.shared.enter.applySync(undefined, ["collect", ""]);
    } catch {
      dispose();
    }
  }

  function dispose(): undefined {
    if (opened && !opened.isolate.isDisposed) opened.isolate.dispose();
    opened = undefined;
  }
}

function openIsolate(options: ModuleOptions, code: string, realmCode: string): OpenIsolate {
  const isolate = new ivm.Isolate({ memoryLimit: Math.max(8, options.memoryMb), onCatastrophicError: abort });
  return {
    isolate,
    realmScript: isolate.compileScriptSync(realmCode, { filename: "hookline:realm" }),
    bundleScript: isolate.compileScriptSync(wrap(code), { filename: BUNDLE_FILE, lineOffset: -1 }),
  };
}

function createRealm({ isolate, realmScript, bundleScript }: OpenIsolate, options: ModuleOptions): RealmContext {
  const context = isolate.createContextSync();
  realmScript.runSync(context);
  bundleScript.runSync(context);
  const enter: ivm.Reference<Enter> = context.evalClosureSync(
    `return ${REALM_GLOBAL}.seal($0, $1, $2)`,
    [runHostOperation, options.export, !options.strict],
    { result: { reference: true } },
  );
  return { context, enter };
}

/** V8 has lost control of an isolate, so the process must end. The supervisor starts another one. */
function abort(): never {
  process.abort();
}

/** The script's value must not be a function: its context could then never be freed. */
function wrap(code: string): string {
  return `${REALM_GLOBAL}.define(function (module, exports, globalThis) { "use strict";\n${code}\n});0`;
}

function releaseRealm({ context, enter }: RealmContext): void {
  enter.release();
  context.release();
}

/** Promises settle in the microtasks that run between the first entry and the second, or never. */
function enterRealm({ enter }: RealmContext, { operation, inputs, bodies, timeoutMs }: IsolateJobs): string {
  const deadline = performance.now() + timeoutMs;
  const answers = enter.applySync(undefined, [operation, inputs, ...bodies], { timeout: timeUntil(deadline) });
  return answers || enter.applySync(undefined, ["settle", ""], { timeout: timeUntil(deadline) });
}

function enterTogether({ enter }: RealmContext, { inputs, bodies, timeoutMs }: IsolateJobs): string | undefined {
  const timeout = Math.min(timeoutMs, TOGETHER_MS);
  return enter.applySync(undefined, ["together", inputs, ...bodies], { timeout }) || undefined;
}

/** In whole milliseconds, at least 1, because 0 would mean no limit. */
function timeUntil(deadline: number): number {
  return Math.max(1, Math.ceil(deadline - performance.now()));
}

/** What the call logged before it was stopped; empty if the isolate no longer answers. */
function rescueLog({ enter }: RealmContext): LogLine[] {
  try {
    const log: LogLine[] = JSON.parse(enter.applySync(undefined, ["log", ""], { timeout: 20 }));
    return log;
  } catch {
    return [];
  }
}

function toAnswer(error: unknown, log: LogLine[], timeoutMs: number, isEntered: boolean): FailedAnswer {
  const message = messageOf(error);
  if (message === "Script execution timed out.") {
    return { kind: "timeout", message: `The transform ran longer than ${timeoutMs} ms.`, log };
  }
  if (isEntered) return toThrown(error, log);
  if (message.includes("memory limit")) {
    return { kind: "memory", message: "The transform exceeded its memory limit.", log };
  }
  return crashed(message, log);
}

/** The realm catches what a transform throws, so this is a promise that was rejected and that nobody awaits. */
function toThrown(error: unknown, log: LogLine[]): FailedAnswer {
  return { kind: "threw", ...describeThrown(error), log };
}

function crashed(reason: string, log: LogLine[]): FailedAnswer {
  return { kind: "crashed", message: `The sandbox could not run the transform: ${reason}`, log };
}
