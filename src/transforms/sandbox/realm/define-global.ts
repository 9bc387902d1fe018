/** Adds or replaces a global the way the language's own are: writable until the realm is frozen, not enumerable. */
export function defineGlobal(name: string, value: unknown): void {
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
}
