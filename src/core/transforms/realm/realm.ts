import { installBlob } from "./blob.ts";
import { installClock } from "./call-clock.ts";
import { installConsole } from "./call-console.ts";
import { installSymbols } from "./call-symbols.ts";
import { installTimers } from "./call-timers.ts";
import {
  type CallGlobals,
  type Check,
  createCheck,
  createInvoke,
  type Factory,
  type Invoke,
  type PackagesFactory,
} from "./call.ts";
import { installDomException } from "./dom-exception.ts";
import { installEvents } from "./event-target.ts";
import { freezeRealm, REALM_GLOBAL, removeLeaks } from "./harden.ts";
import { installHeaders } from "./headers.ts";
import { createCallHost, type HostBridge, installCrypto, installEncoding } from "./host.ts";
import { installMessageChannel } from "./message-channel.ts";
import { installStructuredClone } from "./structured-clone.ts";
import { installUrl } from "./url.ts";

/**
 * Turns a bare context into the realm of a transform. This script is bundled separately and runs in the isolate before any
 * code of a transform: first this script, then the bundle, which calls `define`, then `seal`.
 */
export interface Realm {
  /** Takes the bundle's code. */
  define(factory: Factory): void;
  /** Takes that of its packages, before. */
  definePackages(factory: PackagesFactory): void;
  /** Adds the globals, freezes the realm if several calls share it, collects garbage if asked, and gives the function that runs calls. */
  seal(bridge: HostBridge, exportName: string | undefined, shared: boolean, compact: boolean): Invoke;
  /** The same for a realm without calls, in which many modules are checked. */
  sealForChecks(bridge: HostBridge): Check;
}

Object.defineProperty(globalThis, REALM_GLOBAL, { value: createRealm(), configurable: true });

function createRealm(): Realm {
  let factory: Factory = () => {};
  let packagesFactory: PackagesFactory | undefined;
  const collectGarbage = takeCollector();
  return {
    define(code) {
      factory = code;
    },
    definePackages(code) {
      packagesFactory = code;
    },
    seal(bridge, exportName, shared, compact) {
      const globals = installGlobals(bridge);
      if (shared) freezeRealm();
      if (compact) collectGarbage();
      return createInvoke({ factory, packagesFactory, exportName, ...globals, collectGarbage });
    },
    sealForChecks(bridge) {
      const globals = installGlobals(bridge);
      freezeRealm();
      return createCheck(globals);
    },
  };
}

function installGlobals(bridge: HostBridge): CallGlobals {
  Reflect.deleteProperty(globalThis, REALM_GLOBAL);
  const callHost = createCallHost(bridge);
  const clock = installClock();
  const log = installConsole(clock.now);
  const forgetSymbols = installSymbols();
  const timers = installTimers(clock);
  installDomException();
  installEvents(() => performance.now());
  installEncoding(callHost);
  installUrl(callHost);
  installCrypto(callHost);
  installBlob();
  installHeaders();
  installStructuredClone();
  installMessageChannel();
  removeLeaks();
  return { clock, log, forgetSymbols, timers };
}

/**
 * Removes the garbage collector from the realm and gives a function that runs it. Setting up a realm fills memory pages
 * that stay; collecting them costs 1.5 ms once and nearly halves the size of an isolate. See also `Modules`.
 */
function takeCollector(): () => void {
  const collect = globalThis.gc;
  // Set, not deleted: the declaration of `gc` does not allow it.
  globalThis.gc = undefined;
  return () => collect?.({ type: "major", flavor: "last-resort" });
}
