import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach } from "vitest";
import type { Journal } from "../../../src/journal/journal.ts";

/** How a driver is opened on a state folder. */
export type OpenJournal = (folder: string) => Promise<Journal>;

export interface Harness {
  /** A folder of its own, gone after the test. */
  folder: () => string;
  /** A journal in a folder of its own, or in this one; closed after the test. */
  start: (folder?: string) => Promise<Journal>;
}

/** For one `describe`: what its tests open is closed and removed after each of them. */
export function useJournals(open: OpenJournal): Harness {
  const folders: string[] = [];
  const journals: Journal[] = [];

  afterEach(async () => {
    await Promise.all(journals.splice(0).map((journal) => journal.close()));
    for (const made of folders.splice(0)) rmSync(made, { recursive: true });
  });

  function folder(): string {
    const made = mkdtempSync(path.join(tmpdir(), "hookline-journal-"));
    folders.push(made);
    return made;
  }

  async function start(at: string = folder()): Promise<Journal> {
    const journal = await open(at);
    journals.push(journal);
    return journal;
  }

  return { folder, start };
}
