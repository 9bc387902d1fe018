import { installClock } from "./clock.ts";
import { installStructuredClone } from "./clone.ts";
import { takeCollector } from "./collector.ts";
import { installConsole } from "./console.ts";
import { installCrypto } from "./crypto.ts";
import { installEncoding } from "./encoding.ts";
import { createEnter, type Enter, type Factory } from "./enter.ts";
import { freezeRealm } from "./freeze.ts";
import { createAsk, type HostCall } from "./host.ts";
import { REALM_GLOBAL } from "./name.ts";
import { removeLeaks } from "./remove-leaks.ts";
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
