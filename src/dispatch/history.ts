import type { HistoryEntry } from "../agents/driver.ts";
import type { ResolvedConfig } from "../config/types.ts";
import type { Entry, Journal } from "../journal/journal.ts";
import { takeWithin } from "../shared/text.ts";

/** Most sessions are short, and long entries should not be read only to be left out. */
const FIRST_READ = 8;

const ENTRIES_PER_TURN = 2;

/** An estimate: each model counts differently, but in most texts no average token is shorter. */
const CHARACTERS_PER_TOKEN = 4;

/** The history for a turn that starts at `now`: the session's latest turns within the budget, oldest first. */
export async function readHistory(
  { journal, budget }: { journal: Pick<Journal, "history">; budget: ResolvedConfig["session"] },
  sessionKey: string,
  now: number,
): Promise<HistoryEntry[]> {
  const max = budget.maxTurns * ENTRIES_PER_TURN;
  for (let limit = Math.min(FIRST_READ, max); ; limit = Math.min(limit * 2, max)) {
    const entries = await journal.history(sessionKey, limit);
    const latest = takeFitting(takeCurrent(entries, budget.idleAfterMs, now), budget.maxTokens);
    const isAll = entries.length < limit || latest.length < entries.length || limit >= max;
    if (isAll) return withoutHalfTurn(latest).flatMap(toHistoryEntry);
  }
}

/** The entries since the session was last idle. A slow answer is not idle time. */
function takeCurrent(entries: Entry[], idleAfterMs: number, now: number): Entry[] {
  const lastIdle = entries.findLastIndex(({ at }, index) => {
    const next = entries[index + 1];
    return next?.role !== "assistant" && (next?.at ?? now) - at >= idleAfterMs;
  });
  return entries.slice(lastIdle + 1);
}

function takeFitting(entries: Entry[], maxTokens: number): Entry[] {
  const latest = entries.toReversed();
  return takeWithin(latest, maxTokens, ({ text }) => text.length / CHARACTERS_PER_TOKEN).toReversed();
}

/** Models handle an answer without its question badly, and some services reject it. */
function withoutHalfTurn(entries: Entry[]): Entry[] {
  return entries[0]?.role === "assistant" ? entries.slice(1) : entries;
}

/** Some services reject blank messages. */
function toHistoryEntry({ role, text }: Entry): HistoryEntry[] {
  return role === "system" || text.trim() === "" ? [] : [{ role, text }];
}
