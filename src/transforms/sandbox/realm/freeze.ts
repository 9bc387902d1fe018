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

function collect(value: unknown, reached: Set<object>): void {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return;
  if (reached.has(value)) return;
  reached.add(value);
  collect(Object.getPrototypeOf(value), reached);
  for (const key of Reflect.ownKeys(value)) {
    const property = Object.getOwnPropertyDescriptor(value, key)!;
    for (const part of ["value", "get", "set"] as const) collect(property[part], reached);
  }
}
