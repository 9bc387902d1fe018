import ivm from "isolated-vm";
import { messageOf } from "../../errors.ts";
import type { LogLine } from "../../types.ts";
import type { Check, Factory, PackagesFactory } from "../realm/call.ts";
import { REALM_GLOBAL } from "../realm/harden.ts";
import { describeThrown, type FailedAnswer } from "../sandbox/child-answer.ts";
import { BUNDLE_FILE, type ModuleOptions, PACKAGES, PACKAGES_FILE } from "../sandbox/protocol.ts";
import { runHostOperation } from "./host-operations.ts";

/** An isolate takes 1 MB, and each realm in it another 0.4 MB. A failure costs all modules in it their realms. */
const MAX_MODULES = 16;
/** Memory for the realms of the other modules in it, at most. */
const OTHERS_MB = 16;

/** An isolate in which several modules have their realms. They share its memory limit, and no object. */
export interface SharedIsolate {
  isolate: ivm.Isolate;
  realmScript: ivm.Script;
  /** Compiled code of packages. */
  packages: Map<string, ivm.Script>;
  memoryMb: number;
  /** How many are in it, or will be the next time they run. */
  modules: number;
  /** How many realms were ever created in it. */
  realms: number;
  /** No job has left garbage since the last collection. */
  isSwept: boolean;
}

/** The code of packages, which is the same for many modules. */
export interface PackagesSource {
  id: string;
  code: string;
}

export interface ModuleSource {
  code: string;
  packages: PackagesSource | undefined;
}

/** How jobs ended. */
export interface Ran {
  /** The `Answer`s as a JSON array. */
  answers: string;
  /** How long a module was evaluated. Absent: all of the time counts. */
  ms?: number;
}

/** Finds or creates an isolate with this limit. A module that has failed gets one alone. */
export type AcquireIsolate = (memoryMb: number, alone: boolean) => SharedIsolate;

export function createIsolates(realmCode: string): AcquireIsolate {
  let shared: SharedIsolate[] = [];

  function create(memoryMb: number, limitMb: number): SharedIsolate {
    const isolate = new ivm.Isolate({ memoryLimit: Math.max(8, limitMb), onCatastrophicError: abort });
    const realmScript = isolate.compileScriptSync(realmCode, { filename: "hookline:realm" });
    return { isolate, realmScript, packages: new Map(), memoryMb, modules: 1, realms: 0, isSwept: true };
  }

  return function acquire(memoryMb, alone) {
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
  hasRun: boolean;
}

/** The words of isolated-vm. */
export const TIMED_OUT = "Script execution timed out.";

/** The answer to a job that ended its isolate. */
export function toFailure(error: unknown, { log, timeoutMs, hasRun }: Attempt): FailedAnswer {
  const message = messageOf(error);
  if (message === TIMED_OUT) {
    return { kind: "timeout", message: `The transform ran longer than ${timeoutMs} ms.`, log };
  }
  // The realm catches what a transform throws, so this is a promise that was rejected and that nobody awaits.
  if (hasRun) return { kind: "threw", ...describeThrown(error), log };
  if (message.includes("memory limit")) {
    return { kind: "memory", message: "The transform exceeded its memory limit.", log };
  }
  const [, what, place] = NOT_COMPILED.exec(message) ?? [];
  if (what !== undefined) return { kind: "threw", message: `SyntaxError: ${what}`, stack: `    at ${place}`, log };
  return crashed(message, log);
}

/** The words of isolated-vm for code that does not compile. */
const NOT_COMPILED = new RegExp(String.raw`^(.*) \[((?:${BUNDLE_FILE}|${PACKAGES_FILE}):\d+:\d+)\]$`);

export function crashed(reason: string, log: LogLine[]): FailedAnswer {
  return { kind: "crashed", message: `The sandbox could not run the transform: ${reason}`, log };
}

/** How many checks a realm makes before a new one replaces it, with its garbage. */
const MAX_CHECKS = 100;

/**
 * Evaluates modules once, many in one realm: a realm takes 7 ms, and 200 modules may be checked at a start. A check gets no
 * payload and no secret, and the realm is frozen and never called, so modules can hide and leave nothing in it. Never throws.
 */
export type CheckModule = (options: ModuleOptions, source: ModuleSource, timeoutMs: number) => Ran;

interface CheckRealm {
  home: SharedIsolate;
  context: ivm.Context;
  check: ivm.Reference<Check>;
  /** How many were made in it. */
  checks: number;
  /** Code that modules came with, the oldest first. */
  packages: Map<string, ivm.Reference<PackagesFactory>>;
}

export function createCheckModule(acquire: AcquireIsolate): CheckModule {
  let realm: CheckRealm | undefined;

  return function checkModule(options, { code, packages }, timeoutMs) {
    if (realm && (realm.home.memoryMb !== options.memoryMb || realm.checks >= MAX_CHECKS)) close();
    let hasRun = false;
    try {
      realm ??= openRealm(acquire(options.memoryMb, true));
      realm.checks++;
      const ofPackages = packages && findPackages(realm, packages);
      const factory: ivm.Reference<Factory> = compileFunction(realm, toFactory(code), BUNDLE_FILE);
      hasRun = true;
      const startedAt = performance.now();
      const answers = realm.check.applySync(undefined, [factory.derefInto(), ofPackages?.derefInto(), options.export], {
        timeout: timeoutMs,
      });
      const ms = performance.now() - startedAt;
      factory.release();
      return { answers, ms };
    } catch (error) {
      hasRun &&= realm?.home.isolate.isDisposed === false;
      const failure = toFailure(error, { log: [], timeoutMs, hasRun });
      close();
      return { answers: JSON.stringify([failure]) };
    }
  };

  function close(): void {
    if (realm && !realm.home.isolate.isDisposed) realm.home.isolate.dispose();
    realm = undefined;
  }
}

function openRealm(home: SharedIsolate): CheckRealm {
  const context = home.isolate.createContextSync();
  home.realmScript.runSync(context);
  const check: ivm.Reference<Check> = context.evalClosureSync(
    `return ${REALM_GLOBAL}.sealForChecks($0)`,
    [runHostOperation],
    { result: { reference: true } },
  );
  return { home, context, check, checks: 0, packages: new Map() };
}

/** A module as a function. It adds a line at the top. */
export function toFactory(code: string): string {
  return `function (module, exports, globalThis, require, ${PACKAGES}) { "use strict";\n${code}\n}`;
}

/** The code of packages as a function. It adds a line at the top. */
export function toPackagesFactory(code: string): string {
  return `function (globalThis, require) { "use strict";\n${code}\nreturn ${PACKAGES};\n}`;
}

/** Each can take some megabytes of the realm. */
const MAX_PACKAGES = 4;

function findPackages(realm: CheckRealm, { id, code }: PackagesSource): ivm.Reference<PackagesFactory> {
  const known = realm.packages.get(id);
  if (known) return known;
  const [oldest] = realm.packages.size < MAX_PACKAGES ? [] : realm.packages;
  oldest?.[1].release();
  realm.packages.delete(oldest?.[0] ?? "");
  const made: ivm.Reference<PackagesFactory> = compileFunction(realm, toPackagesFactory(code), PACKAGES_FILE);
  realm.packages.set(id, made);
  return made;
}

function compileFunction<Made>({ home, context }: CheckRealm, code: string, filename: string): ivm.Reference<Made> {
  const script = home.isolate.compileScriptSync(`(${code})`, { filename, lineOffset: -1 });
  const made: ivm.Reference<Made> = script.runSync(context, { reference: true });
  script.release();
  return made;
}
