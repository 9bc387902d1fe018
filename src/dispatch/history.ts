import type { HistoryEntry } from "../agents/driver.ts";
import type { ResolvedConfig } from "../config/types.ts";
import type { Entry, Journal } from "../journal/journal.ts";
import { takeWithin } from "../shared/text.ts";

/** Most sessions are short; long entries should not be read just to be left out. */
const FIRST_READ = 8;

/** A turn is a question and its answer. */
const ENTRIES_PER_TURN = 2;

/** What a token is taken for: models count each in their own way, and in most texts none is shorter on average. */
const CHARACTERS_PER_TOKEN = 4;

interface Session {
  journal: Pick<Journal, "history">;
  budget: ResolvedConfig["session"];
}

/**
 * What a turn that starts at `now` is given of its session: the latest turns, oldest first, as many as the budget allows. A model's
 * context has an end, a session has none.
 */
export async function readHistory(
  { journal, budget }: Session,
  sessionKey: string,
  now: number,
): Promise<HistoryEntry[]> {
  const most = budget.maxTurns * ENTRIES_PER_TURN;
  for (let limit = Math.min(FIRST_READ, most); ; limit = Math.min(limit * 2, most)) {
    const entries = await journal.history(sessionKey, limit);
    const latest = takeFitting(takeCurrent(entries, budget.idleAfterMs, now), budget.maxTokens);
    const isAll = entries.length < limit || latest.length < entries.length || limit >= most;
    if (isAll) return withoutHalfTurn(latest).flatMap(toHistoryEntry);
  }
}

/** What was said since the session was idle for the last time. An answer that took long was no idle time. */
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

/** An answer without its question confuses a model, and some services refuse it. */
function withoutHalfTurn(entries: Entry[]): Entry[] {
  return entries[0]?.role === "assistant" ? entries.slice(1) : entries;
}

/** Blank ones are left out: some services refuse them. */
function toHistoryEntry({ role, text }: Entry): HistoryEntry[] {
  return role === "system" || text.trim() === "" ? [] : [{ role, text }];
}
