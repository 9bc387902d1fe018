import { createEnter, type Enter, type Factory } from "./call.ts";
import { installClock } from "./clock.ts";
import { installStructuredClone } from "./clone.ts";
import { installConsole } from "./console.ts";
import { installCrypto } from "./crypto.ts";
import { installEncoding } from "./encoding.ts";
import { freezeRealm, REALM_GLOBAL, removeLeaks } from "./harden.ts";
import { createAsk, type HostCall } from "./host.ts";
import { installUrl } from "./url.ts";

/**
 * The script that turns a bare context into the realm a transform runs in. It is bundled by itself and run inside the
 * isolate, before any code of a transform: first this script, then the bundle (which calls `define`), then `seal`.
 */
export interface Realm {
  /** Takes the bundle's code. */
  define(factory: Factory): void;
  /** Furnishes the realm, freezes it where several calls are to share it, and gives the way in. */
  seal(call: HostCall, exportName: string | undefined, shared: boolean): Enter;
}

Object.defineProperty(globalThis, REALM_GLOBAL, { value: createRealm(), configurable: true });

function createRealm(): Realm {
  let factory: Factory = () => {};
  const collectGarbage = takeCollector();
  return {
    define(code) {
      factory = code;
    },
    seal(call, exportName, shared) {
      Reflect.deleteProperty(globalThis, REALM_GLOBAL);
      const ask = createAsk(call);
      const setNow = installClock();
      const takeLog = installConsole();
      installEncoding(ask);
      installUrl(ask);
      installCrypto(ask);
      installStructuredClone();
      removeLeaks();
      if (shared) {
        freezeRealm();
        collectGarbage();
      }
      return createEnter({ factory, exportName, setNow, takeLog });
    },
  };
}

/**
 * Takes the collector away from the realm, and gives the function that runs it. Setting up a realm fills pages that are
 * kept: giving them back costs 1.5 ms once, and nearly halves what an isolate holds.
 */
export function takeCollector(): () => void {
  const collect = globalThis.gc;
  // It was declared in a way that cannot be deleted.
  globalThis.gc = undefined;
  return () => collect?.({ type: "major", flavor: "last-resort" });
}
