/** Objects that the realm shares but no path of properties leads to: each is reached through a value of its kind. */
export function hiddenIntrinsics(): object[] {
  const segments = new Intl.Segmenter("en").segment("a");
  const iterators: unknown = Reflect.get(globalThis, "Iterator");
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
    // Iterator helpers, and what `Iterator.from` puts around an iterator that is not one of the language's own.
    callMethod(numbers, "map", (each: unknown) => each),
    callMethod(iterators, "from", { next: () => ({ done: true, value: undefined }) }),
    // The accessors behind `stack`.
    new Error("seed"),
    strictArguments(),
  ];
}

/** Calls a method that the compiler's library does not know yet. */
function callMethod(target: unknown, name: string, argument: unknown): object {
  const method: Function = Reflect.get(Object(target), name);
  return Reflect.apply(method, target, [argument]);
}

/** Their `callee` accessor is shared by all strict functions. */
function strictArguments(): object {
  return arguments;
}
