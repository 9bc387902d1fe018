/** Results that are made of a text, while the program uses them: a reload makes only what has changed. */
export interface WeakCache<Result extends object> {
  /** The result of this text. `make` is called if nothing of the program has it; its error is not kept. */
  get(key: string, make: () => Result): Result;
}

export function createWeakCache<Result extends object>(): WeakCache<Result> {
  const known = new Map<string, WeakRef<Result>>();
  const collected = new FinalizationRegistry<string>((key) => {
    if (known.get(key)?.deref() === undefined) known.delete(key);
  });
  return {
    get(key, make) {
      const found = known.get(key)?.deref();
      if (found) return found;
      const made = make();
      known.set(key, new WeakRef(made));
      collected.register(made, key);
      return made;
    },
  };
}
