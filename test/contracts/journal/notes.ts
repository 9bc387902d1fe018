import { expect, test } from "vitest";
import { type OpenJournal, useJournals } from "./harness.ts";
import { sweepAll } from "./samples.ts";

export function describeNotes(open: OpenJournal): void {
  const { folder, start } = useJournals(open);

  test("notes are replaced and removed together, and are there after a restart", async () => {
    const at = folder();
    const before = await start(at);
    await before.writeNotes([
      { kind: "a", key: "2", json: "2" },
      { kind: "a", key: "1", json: JSON.stringify("\0é") },
      { kind: "b", key: "1", json: "3" },
    ]);
    await before.writeNotes([
      { kind: "a", key: "2", json: "4" },
      { kind: "b", key: "1" },
    ]);
    await before.close();
    const journal = await start(at);
    expect(await journal.listNotes("a")).toEqual([
      { key: "1", json: JSON.stringify("\0é") },
      { key: "2", json: "4" },
    ]);
    expect(await journal.listNotes("b")).toEqual([]);
  });

  test("a note that has expired is not listed, and the sweep leaves the others", async () => {
    const journal = await start();
    await journal.writeNotes([
      { kind: "a", key: "past", json: "1", expiresAt: Date.now() - 1 },
      { kind: "a", key: "later", json: "2", expiresAt: Date.now() + 3_600_000 },
    ]);
    expect(await journal.listNotes("a")).toEqual([{ key: "later", json: "2" }]);
    await sweepAll(journal, { now: Date.now(), keepFrom: 0 });
    expect(await journal.listNotes("a")).toEqual([{ key: "later", json: "2" }]);
  });
}
