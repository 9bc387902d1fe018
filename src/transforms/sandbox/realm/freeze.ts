import { allowOverride } from "./allow-override.ts";
import { hiddenIntrinsics } from "./hidden-intrinsics.ts";

const PARTS = ["value", "get", "set"] as const;

/** Freezes everything that code in this realm can reach without having made it. */
export function freezeRealm(): void {
  allowOverride().forEach(freezeAll);
  hiddenIntrinsics().forEach(freezeAll);
  freezeParts(globalThis);
  Object.freeze(globalThis);
}

function freezeAll(value: unknown): void {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return;
  if (value === globalThis || Object.isFrozen(value)) return;
  Object.freeze(value);
  freezeParts(value);
}

/** Leaves little garbage behind: an isolate keeps the pages that its start-up has filled. */
function freezeParts(value: object): void {
  freezeAll(Object.getPrototypeOf(value));
  const keys = Reflect.ownKeys(value);
  for (let index = 0; index < keys.length; index++) {
    const property = Object.getOwnPropertyDescriptor(value, keys[index]!)!;
    for (let part = 0; part < PARTS.length; part++) freezeAll(property[PARTS[part]!]);
  }
}
