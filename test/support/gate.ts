/** Holds work up until the test has seen what it came to see. */
export interface Gate {
  /** Resolves once the gate is open. */
  passed: Promise<void>;
  open(): void;
}

export function createGate(): Gate {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { passed: promise, open: resolve };
}
