/** Lines in which callers wait for a key, one line for each key. */
export interface Lines {
  /** Resolves with the function that leaves, once all earlier callers have left. */
  enter(key: string): Promise<() => void>;
  /** The same without waiting; undefined if anybody is in the line. */
  tryEnter(key: string): (() => void) | undefined;
}

export function createLines(): Lines {
  /** By key that is held: the requests that wait for it. */
  const waiting = new Map<string, (() => void)[]>();

  function tryEnter(key: string): (() => void) | undefined {
    if (waiting.has(key)) return undefined;
    waiting.set(key, []);
    return () => leave(key);
  }

  function leave(key: string): void {
    const next = waiting.get(key)?.shift();
    if (next) next();
    else waiting.delete(key);
  }

  return {
    tryEnter,
    async enter(key) {
      const entered = tryEnter(key);
      if (entered) return entered;
      await new Promise<void>((resolve) => waiting.get(key)?.push(resolve));
      return () => leave(key);
    },
  };
}
