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
    throw new DOMException(`${String(value)} could not be cloned.`, "DataCloneError");
  }
  if (typeof value !== "object" || value === null) return value;
  return copies.get(value) ?? cloneObject(value, copies);
}

function cloneObject(value: object, copies: Copies): object {
  const leaf = cloneLeaf(value, copies);
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
  if (value instanceof Error) return cloneError(value, copies);
  const copy = remember(value, Array.isArray(value) ? Array.from({ length: value.length }) : {}, copies);
  for (const [key, item] of Object.entries(value)) define(copy, key, clone(item, copies), true);
  return copy;
}

const ERRORS = [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError];

/** An error has one of the language's own classes, its message, stack and cause, as in Node. */
function cloneError(error: Error, copies: Copies): object {
  const Kind = ERRORS.find(({ name }) => name === error.name) ?? Error;
  const copy = remember(error, new Kind(error.message), copies);
  define(copy, "stack", String(error.stack), false);
  if (Object.hasOwn(error, "cause")) define(copy, "cause", clone(error.cause, copies), false);
  return copy;
}

function define(copy: object, key: string, value: unknown, enumerable: boolean): void {
  Object.defineProperty(copy, key, { value, writable: true, configurable: true, enumerable });
}

/** The copy of an object that contains no others but a buffer. */
function cloneLeaf(value: object, copies: Copies): object | undefined {
  if (value instanceof Date) return new Date(value.getTime());
  if (value instanceof RegExp) return new RegExp(value.source, value.flags);
  if (value instanceof ArrayBuffer) return copyBuffer(value);
  if (ArrayBuffer.isView(value)) return cloneView(value, copies);
  return undefined;
}

/** Without `slice`: an heir may have another one. */
function copyBuffer(buffer: ArrayBufferLike): ArrayBuffer {
  const copy = new Uint8Array(byteLengthOf(buffer));
  copy.set(new Uint8Array(buffer));
  return copy.buffer;
}

const { get: readByteLength } = Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, "byteLength")!;

function byteLengthOf(buffer: ArrayBufferLike): number {
  return Reflect.apply(readByteLength!, buffer, []);
}

const VIEWS = [
  DataView,
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float16Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
];
/** Reads the kind of a view, whatever its class says. */
const { get: readTag } = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Uint8Array.prototype),
  Symbol.toStringTag,
)!;

/** Two views of one buffer have one again. */
function cloneView(value: ArrayBufferView, copies: Copies): object {
  const { buffer, byteOffset, byteLength } = value;
  const copy = copies.get(buffer) ?? remember(buffer, copyBuffer(buffer), copies);
  const tag: unknown = Reflect.apply(readTag!, value, []);
  const Kind = VIEWS.find(({ name }) => name === tag) ?? DataView;
  const length = byteLength / ("BYTES_PER_ELEMENT" in Kind ? Kind.BYTES_PER_ELEMENT : 1);
  return Reflect.construct(Kind, [copy, byteOffset, length]);
}

function remember<Copy extends object>(value: object, copy: Copy, copies: Copies): Copy {
  copies.set(value, copy);
  return copy;
}
