import type { HistoryEntry } from "../agents/port.ts";
import type { Entry, Journal } from "../journal/port.ts";

/** What a turn is given of its session at most: a model's context has an end, a session has none. */
const MOST_ENTRIES = 64;
const MOST_CHARACTERS = 100_000;

/** Most sessions are short; long entries should not be read just to be left out. */
const FIRST_READ = 8;

/** A session's latest turns, oldest first, as many as fit. */
export async function readHistory(
  journal: Pick<Journal, "history">,
  sessionKey: string,
): Promise<HistoryEntry[]> {
  for (let limit = FIRST_READ; ; limit *= 2) {
    const entries = await journal.history(sessionKey, limit);
    const latest = takeLatest(entries);
    const isAll = entries.length < limit || latest.length < entries.length || limit >= MOST_ENTRIES;
    if (isAll) return latest.flatMap(toHistoryEntry);
  }
}

function takeLatest(entries: Entry[]): Entry[] {
  let characters = 0;
  const tooFar = entries.findLastIndex(({ text }) => (characters += text.length) > MOST_CHARACTERS);
  const latest = entries.slice(tooFar + 1);
  // an answer without its question confuses a model, and some services refuse it
  return latest[0]?.role === "assistant" ? latest.slice(1) : latest;
}

/** Blank ones are left out: some services refuse them. */
function toHistoryEntry({ role, text }: Entry): HistoryEntry[] {
  return role === "system" || text.trim() === "" ? [] : [{ role, text }];
}
