import type ivm from "isolated-vm";
import type { Check, Factory } from "../realm/call.ts";
import { REALM_GLOBAL } from "../realm/harden.ts";
import { BUNDLE_FILE, type ModuleOptions } from "../sandbox/protocol.ts";
import { type Isolates, type SharedIsolate, toFailure } from "./shared-isolates.ts";
import { runHostOperation } from "./host-operations.ts";

/** So often a realm is used before its garbage is left to a new one. */
const MAX_CHECKS = 100;

/**
 * Evaluates modules once, many in one realm: a realm takes 7 ms, and 200 modules may be checked at a start. A check gets no
 * payload and no secret, and the realm is frozen and never called, so modules can hide and leave nothing in it.
 */
export interface Checks {
  /** Gives the `Answer` as a JSON array of one. Never throws. */
  run(options: ModuleOptions, code: string, timeoutMs: number): string;
}

interface CheckRealm {
  home: SharedIsolate;
  context: ivm.Context;
  check: ivm.Reference<Check>;
  /** How many were made in it. */
  checks: number;
}

export function createChecks(isolates: Isolates): Checks {
  let realm: CheckRealm | undefined;

  return {
    run(options, code, timeoutMs) {
      if (realm && (realm.home.memoryMb !== options.memoryMb || realm.checks >= MAX_CHECKS)) close();
      let isEntered = false;
      try {
        realm ??= openRealm(isolates.enter(options.memoryMb, true));
        realm.checks++;
        const factory = compileFactory(realm, code);
        isEntered = true;
        const answer = realm.check.applySync(undefined, [factory.derefInto(), options.export], { timeout: timeoutMs });
        factory.release();
        return answer;
      } catch (error) {
        const failure = toFailure(error, {
          log: [],
          timeoutMs,
          isEntered: isEntered && realm?.home.isolate.isDisposed === false,
        });
        close();
        return JSON.stringify([failure]);
      }
    },
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
  return { home, context, check, checks: 0 };
}

function compileFactory({ home, context }: CheckRealm, code: string): ivm.Reference<Factory> {
  const text = `(function (module, exports, globalThis) { "use strict";\n${code}\n})`;
  const script = home.isolate.compileScriptSync(text, { filename: BUNDLE_FILE, lineOffset: -1 });
  const factory: ivm.Reference<Factory> = script.runSync(context, { reference: true });
  script.release();
  return factory;
}
