import type { Entry } from "../records.ts";
import type { Database } from "./database.ts";
import { text } from "../rows.ts";
import { readEntries } from "./entries.ts";

/** Characters of the texts that are kept in memory. */
const MAX_CHARACTERS = 4_000_000;

/**
 * Reads the turns of sessions. Every turn of a session reads those before it, and an entry never changes: the ones that
 * were read last are kept in memory. Which ones a session has is read each time.
 */
export function createTurns(): (database: Database, sessionKey: string, limit: number) => Entry[] {
  const known = new Map<number, Entry>();
  let characters = 0;

  return function listTurns(database, sessionKey, limit) {
    const seqs: number[] = JSON.parse(text(database.get(NEWEST_TURNS, sessionKey, limit)?.seqs));
    const unknown = seqs.filter((seq) => !known.has(seq));
    if (unknown.length > 0) for (const entry of readEntries(database, unknown)) remember(entry);
    const turns = seqs.toSorted((a, b) => a - b).flatMap((seq) => known.get(seq) ?? []);
    forgetOldest();
    return turns;
  };

  function remember(entry: Entry): void {
    known.set(entry.seq, entry);
    characters += entry.text.length;
  }

  /** After the turns were taken, so that a large history is whole. */
  function forgetOldest(): void {
    for (const [seq, entry] of known) {
      if (characters <= MAX_CHARACTERS) return;
      known.delete(seq);
      characters -= entry.text.length;
    }
  }
}

/** As one value: a row for each number would cost as much as the rest of the read. */
const NEWEST_TURNS = `
  SELECT json_group_array(seq) AS seqs FROM (
    SELECT seq FROM entries WHERE session_key = ? AND (role = 'system') = 0 ORDER BY seq DESC LIMIT +?)`;
