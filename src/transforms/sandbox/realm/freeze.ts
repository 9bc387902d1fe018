import { allowOverride } from "./allow-override.ts";
import { hiddenIntrinsics } from "./hidden-intrinsics.ts";

/** Freezes everything that code in this realm can reach without having made it. */
export function freezeRealm(): void {
  const reached = new Set<object>();
  const behindAccessors = allowOverride();
  for (const root of [globalThis, ...hiddenIntrinsics(), ...behindAccessors]) collect(root, reached);
  for (const each of reached) if (each !== globalThis) Object.freeze(each);
  Object.freeze(globalThis);
}

/** Leaves as little garbage as it can: each isolate keeps the pages that its start-up has filled. */
function collect(value: unknown, reached: Set<object>): void {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return;
  if (reached.has(value)) return;
  reached.add(value);
  collect(Object.getPrototypeOf(value), reached);
  const keys = Reflect.ownKeys(value);
  for (let index = 0; index < keys.length; index++) {
    const property = Object.getOwnPropertyDescriptor(value, keys[index]!)!;
    collect(property.value, reached);
    collect(property.get, reached);
    collect(property.set, reached);
  }
}
