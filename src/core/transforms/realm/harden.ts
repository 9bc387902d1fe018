const PARTS = ["value", "get", "set"] as const;

/** Freezes everything that code in this realm can reach without creating it. */
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

/** Plain loops leave little garbage: an isolate keeps the memory pages that its start-up has filled. */
function freezeParts(value: object): void {
  freezeAll(Object.getPrototypeOf(value));
  const keys = Reflect.ownKeys(value);
  for (let index = 0; index < keys.length; index++) {
    const property = Object.getOwnPropertyDescriptor(value, keys[index]!)!;
    for (let part = 0; part < PARTS.length; part++) freezeAll(property[PARTS[part]!]);
  }
}

const PROTOTYPES: object[] = [
  Object.prototype,
  Function.prototype,
  Promise.prototype,
  Date.prototype,
  RegExp.prototype,
  ...[Error, AggregateError, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError].map(
    (each): object => each.prototype,
  ),
];

/**
 * A plain assignment fails for a property that is frozen on the prototype: `this.name = …` in a subclass of Error would
 * throw. Accessors take the assignment instead and define the property on the object itself. Gives the values that the
 * accessors now hide.
 */
function allowOverride(): unknown[] {
  return PROTOTYPES.flatMap((prototype) => Reflect.ownKeys(prototype).map((key) => replaceByAccessor(prototype, key)));
}

function replaceByAccessor(prototype: object, key: PropertyKey): unknown {
  const property = Object.getOwnPropertyDescriptor(prototype, key)!;
  if (!property.writable || !property.configurable) return undefined;
  const value: unknown = property.value;
  Object.defineProperty(prototype, key, {
    get: () => value,
    set(this: unknown, next: unknown) {
      if (this === prototype) throw new TypeError(`Cannot assign to ${String(key)}: all calls share it.`);
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
    strictArguments(),
  ];
}

/** All strict functions share the accessor of `callee`. */
function strictArguments(): object {
  return arguments;
}

/** Globals that let a call run later, reveal one call to another, or escape the memory limit. */
const GLOBALS = ["WebAssembly", "SharedArrayBuffer", "Atomics", "WeakRef", "FinalizationRegistry"];

/** `RegExp.$1`, `RegExp.lastMatch` and similar fields hold pieces of the last matched text, perhaps of another request. */
const REGEXP_STATICS =
  "$1 $2 $3 $4 $5 $6 $7 $8 $9 $_ $& $+ $` $' input lastMatch lastParen leftContext rightContext".split(" ");

export function removeLeaks(): void {
  for (const name of GLOBALS) Reflect.deleteProperty(globalThis, name);
  for (const name of REGEXP_STATICS) Reflect.deleteProperty(RegExp, name);
}

/** Adds or replaces a global like a built-in one: not enumerable, writable until the realm is frozen. */
export function defineGlobal(name: string, value: unknown): void {
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
}

/** The global that holds the realm until it is sealed, which is before any code of a transform runs. */
export const REALM_GLOBAL = "__hooklineRealm";
