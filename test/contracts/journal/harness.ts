import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach } from "vitest";
import type { Claim, Journal } from "../../../src/core/journal/journal.ts";

/** Opens a driver on a state folder. */
export type OpenJournal = (folder: string) => Promise<Journal>;

export interface Harness {
  /** Creates a folder that is removed after the test. */
  folder: () => string;
  /** Opens a journal in a new folder, or in this one. It is closed after the test. */
  start: (folder?: string) => Promise<Journal>;
  /** Opens the journal of a folder as the next process finds it, after this one was killed. */
  restart: (killed: Opened, options: { hasNodes: boolean }) => Promise<Opened>;
}

export interface Opened {
  journal: Journal;
  at: string;
}

const claims = new Map<string, Claim>();

/** The last claim of a run or delivery from a journal of `start`, or a claim with an invalid token. */
export function claimOf(id: string): Claim {
  return claims.get(id) ?? { id, token: 0 };
}

/** The files of a state folder as a process leaves them that is killed now. The folder is the caller's to remove. */
export function copyState(from: string): string {
  const to = mkdtempSync(path.join(tmpdir(), "hookline-journal-"));
  cpSync(from, to, { recursive: true, filter: (file) => !file.includes("owner.") });
  return to;
}

/** For one `describe`: after each test it closes the journals and removes the folders. */
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
    return {
      ...journal,
      claimRuns: async (...args) => remember(await journal.claimRuns(...args)),
      claimDeliveries: async (...args) => remember(await journal.claimDeliveries(...args)),
    };
  }

  async function restart({ journal, at }: Opened, { hasNodes }: { hasNodes: boolean }): Promise<Opened> {
    if (hasNodes) {
      await journal.renewNode(0);
      return { journal: await start(at), at };
    }
    const copy = copyState(at);
    folders.push(copy);
    return { journal: await start(copy), at: copy };
  }

  return { folder, start, restart };
}

function remember<Claimed extends Claim>(claimed: Claimed[]): Claimed[] {
  for (const { id, token } of claimed) claims.set(id, { id, token });
  return claimed;
}
