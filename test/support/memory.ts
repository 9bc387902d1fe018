import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect } from "vitest";

/** Does the same many times over and expects that nothing of it stays. */
export async function expectFlatMemory(times: number, work: () => Promise<unknown>): Promise<void> {
  await work();
  const before = heldBytes();
  for (let count = 0; count < times; count++) await work();
  // connections that were just closed may take a moment to be let go
  await expect.poll(() => heldBytes() - before).toBeLessThan(5_000_000);
}

/** What is still held after a collection, in bytes. */
function heldBytes(): number {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
