import { mkdtempSync, rmSync } from "node:fs";
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
}

const claims = new Map<string, Claim>();

/** The last claim of a run or delivery from a journal of `start`, or a claim with an invalid token. */
export function claimOf(id: string): Claim {
  return claims.get(id) ?? { id, token: 0 };
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

  return { folder, start };
}

function remember<Claimed extends Claim>(claimed: Claimed[]): Claimed[] {
  for (const { id, token } of claimed) claims.set(id, { id, token });
  return claimed;
}
