import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect } from "vitest";

/** Repeats work many times and expects that it leaks no memory. */
export async function expectFlatMemory(times: number, work: () => Promise<unknown>): Promise<void> {
  await work();
  const before = heldBytes();
  for (let count = 0; count < times; count++) await work();
  // Connections that were just closed may be released a little later.
  await expect.poll(() => heldBytes() - before).toBeLessThan(5_000_000);
}

/** Bytes in use after a garbage collection. */
function heldBytes(): number {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
