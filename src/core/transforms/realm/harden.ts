const PARTS = ["value", "get", "set"] as const;

/** Freezes everything that code in this realm can reach without creating it. */
export function freezeRealm(): void {
  allowOverride().forEach(freezeAll);
  hiddenIntrinsics().forEach(freezeAll);
  for (const name of REPLACEABLE) freezeAll(replaceByAccessor(globalThis, name));
  freezeParts(globalThis);
  Object.freeze(globalThis);
}

/** Globals that a package may bring itself: the scope of its call takes them. */
const REPLACEABLE =
  "AbortController AbortSignal Blob CustomEvent DOMException Event EventTarget Headers MessageChannel MessageEvent MessagePort clearImmediate clearInterval clearTimeout console performance queueMicrotask setImmediate setInterval setTimeout structuredClone".split(
    " ",
  );

function freezeAll(value: unknown): void {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return;
  if (value === globalThis || Object.isFrozen(value)) return;
  Object.freeze(value);
  freezeParts(value);
}

/** Plain loops leave little garbage: an isolate keeps the memory pages that its start-up has filled. */
function freezeParts(value: object): void {
  freezeAll(Object.getPrototypeOf(value));
  const keys = Reflect.ownKeys(value);
  for (let index = 0; index < keys.length; index++) {
    const property = Object.getOwnPropertyDescriptor(value, keys[index]!)!;
    for (let part = 0; part < PARTS.length; part++) freezeAll(property[PARTS[part]!]);
  }
}

const ASSIGNED = "Object Function Promise Date RegExp";
const ERRORS = "Error AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError";
const LANGUAGE = `${ASSIGNED} ${ERRORS} String Number Boolean Array Map Set WeakMap WeakSet ArrayBuffer DataView Uint8Array Iterator`;

/** Prototypes of what packages make heirs of, or assign to. */
function findPrototypes(): object[] {
  const globals = [...LANGUAGE.split(" "), ...REPLACEABLE].map((name): unknown => Reflect.get(globalThis, name));
  const formats = Object.getOwnPropertyNames(Intl).map((name): unknown => Reflect.get(Intl, name));
  const classes = [...globals, ...formats, Object.getPrototypeOf(Uint8Array)];
  return classes.map(toPrototype).filter((each) => each !== undefined);
}

function toPrototype(made: unknown): object | undefined {
  const prototype: unknown = typeof made === "function" ? made.prototype : undefined;
  return (typeof prototype === "object" || typeof prototype === "function") && prototype !== null
    ? prototype
    : undefined;
}

/**
 * A plain assignment fails for a property that is frozen on the prototype: `this.name = …` in a subclass of Error would
 * throw. Accessors take the assignment instead and define the property on the object itself. Gives the values that the
 * accessors now hide.
 */
function allowOverride(): unknown[] {
  return findPrototypes().flatMap((prototype) =>
    Reflect.ownKeys(prototype).map((key) =>
      mayOverride(prototype, key) ? replaceByAccessor(prototype, key) : undefined,
    ),
  );
}

/** All of their properties have accessors. Others have them for what packages are known to assign. */
const WHOLE: object[] = `${ASSIGNED} ${ERRORS}`
  .split(" ")
  .map((name): object => toPrototype(Reflect.get(globalThis, name)) ?? {});
/** Their other methods would be slower by a tenth to a half. */
const VALUES: object[] = [String.prototype, Number.prototype, Boolean.prototype, Array.prototype];
const OF_VALUES: PropertyKey[] = ["toString", "toLocaleString", "valueOf", "constructor"];

/** V8 has fast ways that end with an accessor: without them, `slice` of a list takes a hundred times as long. */
function mayOverride(prototype: object, key: PropertyKey): boolean {
  if (WHOLE.includes(prototype)) return true;
  if (typeof key === "symbol" || (prototype === Array.prototype && key === "constructor")) return false;
  return !VALUES.includes(prototype) || OF_VALUES.includes(key);
}

/** Gives the value that the accessor hides. */
function replaceByAccessor(holder: object, key: PropertyKey): unknown {
  const property = Object.getOwnPropertyDescriptor(holder, key)!;
  if (!property.writable || !property.configurable) return undefined;
  const value: unknown = property.value;
  Object.defineProperty(holder, key, {
    // Packages that look for built-in methods (get-intrinsic) take the getter for the method without it.
    get: Object.assign(() => value, { originalValue: value }),
    set(this: unknown, next: unknown) {
      if (this === holder) throw new TypeError(`Cannot assign to ${String(key)}: all calls share it.`);
      Object.defineProperty(this, key, { value: next, writable: true, configurable: true, enumerable: true });
    },
    enumerable: property.enumerable ?? false,
    configurable: true,
  });
  return value;
}

/** Shared objects that no path of properties reaches: each is reached through a value of its kind. */
function hiddenIntrinsics(): object[] {
  const segments = new Intl.Segmenter("en").segment("a");
  const numbers = new Set([1]).values();
  return [
    (function* () {})(),
    function* () {}.constructor,
    (async function* () {})(),
    async function* () {}.constructor,
    (async () => {}).constructor,
    [].values(),
    new Map().entries(),
    numbers,
    ""[Symbol.iterator](),
    "".matchAll(/a/g),
    segments,
    segments[Symbol.iterator](),
    // Iterator helpers, and the wrapper of `Iterator.from` around a custom iterator.
    numbers.map((each) => each),
    Iterator.from({ next: () => ({ done: true, value: undefined }) }),
    // The accessors behind `stack`.
    new Error("seed"),
    setTimeout(() => {}),
    strictArguments(),
  ];
}

/** All strict functions share the accessor of `callee`. */
function strictArguments(): object {
  return arguments;
}

/** Globals that let a call run later, reveal one call to another, or escape the memory limit. */
const GLOBALS = ["WebAssembly", "SharedArrayBuffer", "Atomics", "WeakRef", "FinalizationRegistry"];

export function removeLeaks(): void {
  for (const name of GLOBALS) Reflect.deleteProperty(globalThis, name);
}

/** Adds or replaces a global like a built-in one: not enumerable, writable until the realm is frozen. */
export function defineGlobal(name: string, value: unknown): void {
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
}

/** The global that holds the realm until it is sealed, which is before any code of a transform runs. */
export const REALM_GLOBAL = "__hooklineRealm";

/** `Object.prototype.toString` gives `[object Name]`, as for a built-in class. */
export function nameObjects(name: string, made: { prototype: object }): void {
  Object.defineProperty(made.prototype, Symbol.toStringTag, { value: name, configurable: true });
}
