import type ivm from "isolated-vm";
import type { LogLine } from "../../types.ts";
import type { Invoke } from "../realm/call.ts";
import { REALM_GLOBAL } from "../realm/harden.ts";
import { BUNDLE_FILE, type ModuleOptions, PACKAGES_FILE } from "../sandbox/protocol.ts";
import {
  type AcquireIsolate,
  type CheckModule,
  crashed,
  createCheckModule,
  createIsolates,
  type ModuleSource,
  type PackagesSource,
  type Ran,
  type SharedIsolate,
  toFactory,
  toPackagesFactory,
  TIMED_OUT,
  toFailure,
} from "./shared-isolates.ts";
import { runHostOperation } from "./host-operations.ts";

/** One check, one call, or a batch of calls. */
interface IsolateJobs {
  operation: "call" | "check";
  /** A JSON array. */
  inputs: string;
  bodies: string[];
  timeoutMs: number;
}

/** The modules of a child process. */
export interface Modules {
  loadPackages(id: string, code: string): void;
  unloadPackages(id: string): void;
  load(options: ModuleOptions, code: string): void;
  unload(module: string): void;
  /** undefined: the calls cannot be made in a batch. Never throws. */
  run(module: string, jobs: IsolateJobs): Ran | undefined;
  /** Collects the bodies of earlier jobs once they are many: to V8's own collector they look like small objects. */
  sweep(): void;
}

/** Bodies of earlier jobs in all isolates together, in UTF-16 code units, before they are collected. */
const MAX_GARBAGE_LENGTH = 8 * 1024 * 1024;

export function createModules(realmCode: string): Modules {
  const modules = new Map<string, ModuleIsolate>();
  const packages = new Map<string, PackagesSource>();
  const acquire = createIsolates(realmCode);
  const checkModule = createCheckModule(acquire);
  let garbageLength = 0;
  return {
    loadPackages: (id, code) => void packages.set(id, { id, code }),
    unloadPackages: (id) => void packages.delete(id),
    load(options, code) {
      const source = { code, packages: packages.get(options.packages ?? "") };
      modules.set(options.module, createModuleIsolate(options, source, acquire, checkModule));
    },
    unload(module) {
      modules.get(module)?.dispose();
      modules.delete(module);
    },
    run(module, jobs) {
      const isolate = modules.get(module);
      for (const body of jobs.bodies) garbageLength += body.length;
      return isolate
        ? isolate.run(jobs)
        : { answers: JSON.stringify(jobs.bodies.map(() => crashed("the module is not loaded", []))) };
    },
    sweep() {
      if (garbageLength < MAX_GARBAGE_LENGTH) return;
      garbageLength = 0;
      for (const isolate of modules.values()) isolate.sweep();
    },
  };
}

/** One version of a module in an isolate, which it gets at the first job, and again after a failure. */
export interface ModuleIsolate {
  /** Runs synchronously on this thread. See `Modules`. */
  run(jobs: IsolateJobs): Ran | undefined;
  /** Collects the garbage of the jobs since the last time. */
  sweep(): void;
  dispose(): void;
}

interface OpenModule {
  home: SharedIsolate;
  /** The packages' code, if it has any, and the module's own. */
  scripts: ivm.Script[];
  /** The realm of all jobs; with strict isolation each job has its own. */
  shared?: RealmContext;
}

/** A realm that a transform can be called in. */
interface RealmContext {
  context: ivm.Context;
  invoke: ivm.Reference<Invoke>;
}

export function createModuleIsolate(
  options: ModuleOptions,
  source: ModuleSource,
  acquire: AcquireIsolate,
  checkModule: CheckModule,
): ModuleIsolate {
  let opened: OpenModule | undefined;
  let hasFailed = false;
  return { run, sweep, dispose };

  function run(jobs: IsolateJobs): Ran | undefined {
    // Under strict isolation a module may change its realm.
    if (jobs.operation === "check" && !options.strict) return checkModule(options, source, jobs.timeoutMs);
    const isOne = jobs.bodies.length === 1;
    let realm: RealmContext | undefined;
    try {
      // Another module may have ended the isolate.
      if (!opened || opened.home.isolate.isDisposed) opened = openModule(options, source, acquire, hasFailed);
      realm = opened.shared ?? createRealm(opened, options);
      if (!options.strict) opened.shared = realm;
      opened.home.isSwept = false;
      const answers = isOne ? runOne(realm, jobs) : runBatch(realm, jobs);
      return answers === undefined ? undefined : { answers };
    } catch (error) {
      const hasRun = realm !== undefined && opened?.home.isolate.isDisposed === false;
      const log = hasRun && isOne ? rescueLog(realm!) : [];
      hasFailed = true;
      endIsolate();
      // Whichever of several calls failed: each is made again alone.
      if (!isOne) return undefined;
      return { answers: JSON.stringify([toFailure(error, { log, timeoutMs: jobs.timeoutMs, hasRun })]) };
    } finally {
      if (options.strict && opened && realm) releaseRealm(realm);
    }
  }

  function sweep(): void {
    if (!opened || opened.home.isolate.isDisposed || opened.home.isSwept) return;
    opened.home.isSwept = true;
    if (!opened.shared) return endIsolate();
    try {
      opened.shared.invoke.applySync(undefined, ["collect", ""]);
    } catch {
      endIsolate();
    }
  }

  /** The other modules in it get another one at their next job. */
  function endIsolate(): void {
    if (opened && !opened.home.isolate.isDisposed) opened.home.isolate.dispose();
    opened = undefined;
  }

  function dispose(): void {
    if (!opened || opened.home.isolate.isDisposed) return;
    if (opened.shared) releaseRealm(opened.shared);
    if (--opened.home.modules === 0) endIsolate();
    opened = undefined;
  }
}

function openModule(
  options: ModuleOptions,
  { code, packages }: ModuleSource,
  acquire: AcquireIsolate,
  isAlone: boolean,
): OpenModule {
  const home = acquire(options.memoryMb, isAlone || options.strict);
  const ofPackages = packages ? [compilePackages(home, packages)] : [];
  const own = home.isolate.compileScriptSync(wrap("define", toFactory(code)), {
    filename: BUNDLE_FILE,
    lineOffset: -1,
  });
  return { home, scripts: [...ofPackages, own] };
}

const MAX_PACKAGES = 16;

/** Once for all modules of the isolate that have them. */
function compilePackages({ isolate, packages }: SharedIsolate, { id, code }: PackagesSource): ivm.Script {
  const known = packages.get(id);
  if (known) return known;
  const text = wrap("definePackages", toPackagesFactory(code));
  const script = isolate.compileScriptSync(text, { filename: PACKAGES_FILE, lineOffset: -1 });
  // Modules keep what they still use of earlier versions.
  if (packages.size >= MAX_PACKAGES) packages.clear();
  packages.set(id, script);
  return script;
}

/** Compacting an isolate takes as long as creating a realm in it. */
const COMPACT_EVERY = 8;

function createRealm({ home, scripts }: OpenModule, options: ModuleOptions): RealmContext {
  const context = home.isolate.createContextSync();
  home.realmScript.runSync(context);
  for (const script of scripts) script.runSync(context);
  const isCompact = ++home.realms % COMPACT_EVERY === 0;
  const invoke: ivm.Reference<Invoke> = context.evalClosureSync(
    `return ${REALM_GLOBAL}.seal($0, $1, $2, $3)`,
    [runHostOperation, options.export, !options.strict, isCompact],
    { result: { reference: true } },
  );
  return { context, invoke };
}

/** The script's value must not be a function: its context could then never be freed. */
function wrap(definition: "define" | "definePackages", factory: string): string {
  return `${REALM_GLOBAL}.${definition}(${factory});0`;
}

function releaseRealm({ context, invoke }: RealmContext): void {
  invoke.release();
  context.release();
}

/** Promises settle in the microtasks that run between two of these calls, after one of its timers, or never. */
function runOne({ invoke }: RealmContext, { operation, inputs, bodies, timeoutMs }: IsolateJobs): string {
  const deadline = performance.now() + timeoutMs;
  let answers = invoke.applySync(undefined, [operation, inputs, ...bodies], { timeout: timeUntil(deadline) });
  while (!answers) {
    // Many short steps: none of them would exceed its own time.
    if (performance.now() >= deadline) throw new Error(TIMED_OUT);
    answers = invoke.applySync(undefined, ["settle", ""], { timeout: timeUntil(deadline) });
  }
  return answers;
}

function runBatch({ invoke }: RealmContext, { inputs, bodies, timeoutMs }: IsolateJobs): string | undefined {
  return invoke.applySync(undefined, ["batch", inputs, ...bodies], { timeout: timeoutMs }) || undefined;
}

/** In whole milliseconds, at least 1, because 0 would mean no limit. */
function timeUntil(deadline: number): number {
  return Math.max(1, Math.ceil(deadline - performance.now()));
}

/** Far longer than it takes: under strict isolation, a module can have changed what it runs. */
const LOG_TIMEOUT_MS = 200;

/** The log of a call that was stopped; empty if the isolate no longer answers. */
function rescueLog({ invoke }: RealmContext): LogLine[] {
  try {
    const log: LogLine[] = JSON.parse(invoke.applySync(undefined, ["log", ""], { timeout: LOG_TIMEOUT_MS }));
    return log;
  } catch {
    return [];
  }
}
