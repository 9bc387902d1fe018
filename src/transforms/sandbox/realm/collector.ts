/**
 * Takes the collector away from the realm, and gives the function that runs it. Setting up a realm fills pages that are
 * kept: giving them back costs 1.5 ms once, and nearly halves what an isolate holds.
 */
export function takeCollector(): () => void {
  const collect = globalThis.gc;
  // It was declared in a way that cannot be deleted.
  globalThis.gc = undefined;
  return () => collect?.({ type: "major", flavor: "last-resort" });
}
