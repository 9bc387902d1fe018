/** Accepts events until it is killed, and prints each id once its commit is reported: `node writer.ts OPENER FOLDER`. */
import { writeSync } from "node:fs";
import type { OpenJournal } from "./harness.ts";
import { NOW, nextId, sampleEvent, sampleKeys, sampleRun } from "./samples.ts";

const [opener = "", folder = ""] = process.argv.slice(2);
const { open }: { open: OpenJournal } = await import(opener);
const journal = await open(folder);

const first = await acceptOne();
await journal.claimRuns(1, NOW);
report(first);
for (;;) await Promise.all(Array.from({ length: 16 }, async () => report(await acceptOne())));

async function acceptOne(): Promise<string> {
  const id = nextId();
  const actions = [sampleRun(`session of ${id}`)];
  await journal.accept(sampleEvent({ id, actions, idempotency: sampleKeys([id]) }));
  return id;
}

/** Synchronous, so that nothing reported is lost in a buffer. */
function report(id: string): void {
  writeSync(1, `${id}\n`);
}
