import { setTimeout as sleep } from "node:timers/promises";

const LIMIT_MS = 10_000;
const PAUSE_MS = 10;

/** Resolves once the condition holds; rejects with an `Error` of the given words where that takes ten seconds. */
export async function until(holds: () => boolean, words: string): Promise<void> {
  const startedAt = performance.now();
  while (!holds()) {
    if (performance.now() - startedAt > LIMIT_MS) throw new Error(words);
    await sleep(PAUSE_MS);
  }
}
