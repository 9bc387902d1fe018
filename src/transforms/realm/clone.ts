import { defineGlobal } from "./harden.ts";

/** Adds `structuredClone` for plain data, Map, Set, Date, RegExp, Error and bytes, with cycles. */
export function installStructuredClone(): void {
  defineGlobal("structuredClone", function structuredClone(value: unknown): unknown {
    return clone(value, new Map());
  });
}

/** The copy of each object so far, so that a cycle ends. */
type Copies = Map<object, object>;

function clone(value: unknown, copies: Copies): unknown {
  if (typeof value === "function" || typeof value === "symbol") {
    throw new TypeError(`A ${typeof value} cannot be cloned.`);
  }
  if (typeof value !== "object" || value === null) return value;
  return copies.get(value) ?? cloneObject(value, copies);
}

function cloneObject(value: object, copies: Copies): object {
  const leaf = cloneLeaf(value);
  if (leaf) return remember(value, leaf, copies);
  if (value instanceof Map) {
    const copy = remember(value, new Map<unknown, unknown>(), copies);
    for (const [key, item] of value) copy.set(clone(key, copies), clone(item, copies));
    return copy;
  }
  if (value instanceof Set) {
    const copy = remember(value, new Set<unknown>(), copies);
    for (const item of value) copy.add(clone(item, copies));
    return copy;
  }
  const copy = remember(value, Array.isArray(value) ? Array.from({ length: value.length }) : {}, copies);
  for (const [key, item] of Object.entries(value)) {
    const property = { value: clone(item, copies), writable: true, configurable: true, enumerable: true };
    Object.defineProperty(copy, key, property);
  }
  return copy;
}

/** The copy of an object that contains no others. */
function cloneLeaf(value: object): object | undefined {
  if (value instanceof Date) return new Date(value.getTime());
  if (value instanceof RegExp) return new RegExp(value.source, value.flags);
  if (value instanceof ArrayBuffer) return value.slice(0);
  if (value instanceof DataView) return new DataView(value.buffer.slice(0), value.byteOffset, value.byteLength);
  if (value instanceof Uint8Array) return value.slice();
  if (value instanceof Error) {
    const name = { value: value.name, writable: true, configurable: true };
    return Object.defineProperty(new Error(value.message), "name", name);
  }
  if (ArrayBuffer.isView(value)) throw new TypeError("The only typed array that can be cloned here is Uint8Array.");
  return undefined;
}

function remember<Copy extends object>(value: object, copy: Copy, copies: Copies): Copy {
  copies.set(value, copy);
  return copy;
}
