import type { NewState } from "../../types.ts";
import type { NewEvent, Answer } from "../records/event.ts";
import type { NewNote } from "../records/node.ts";
import { integer, optional, text } from "../rows.ts";
import { findStateRefusal } from "../state.ts";
import type { Database } from "./database.ts";
import type { Transaction } from "./group-commit.ts";

/** Keeps what an event sets, or says why it cannot be committed. */
export function writeState(
  database: Database,
  { id: version, mapping = "" }: NewEvent,
  state: NewState,
): ReturnType<typeof findStateRefusal> {
  const now = Date.now();
  const refusal = findStateRefusal(state, {
    versionOf: (key) => optional(text, database.get(SELECT_VERSION, mapping, key, now)?.version ?? null),
    count() {
      // They are no longer there for anybody, and must not take the place of others.
      database.run(`DELETE FROM state WHERE mapping = ? AND expires_at <= ?`, mapping, now);
      return integer(database.get("SELECT count(*) AS count FROM state WHERE mapping = ?", mapping)?.count);
    },
  });
  if (refusal) return refusal;
  for (const { key, json, ttlMs } of state.sets) {
    if (json === undefined) database.run("DELETE FROM state WHERE mapping = ? AND key = ?", mapping, key);
    else database.run(REPLACE_KEY, mapping, key, version, ttlMs === undefined ? null : now + ttlMs, json);
  }
  return undefined;
}

const SELECT_VERSION = `
  SELECT version FROM state WHERE mapping = ? AND key = ? AND (expires_at IS NULL OR expires_at > ?)`;

const REPLACE_KEY = "INSERT OR REPLACE INTO state (mapping, key, version, expires_at, value) VALUES (?, ?, ?, ?, ?)";

export function writeNotes(database: Database, notes: NewNote[]): void {
  for (const { kind, key, json, expiresAt } of notes) {
    if (json === undefined) database.run("DELETE FROM notes WHERE kind = ? AND key = ?", kind, key);
    else database.run(REPLACE_NOTE, kind, key, expiresAt ?? null, json);
  }
}

const REPLACE_NOTE = "INSERT OR REPLACE INTO notes (kind, key, expires_at, value) VALUES (?, ?, ?, ?)";

/** An event that is deleted already has no repeats that could ask for its answer. */
export function recordAnswer({ run, get }: Transaction, eventId: string, answer: Answer | null): Answer | null {
  run(INSERT_ANSWER, JSON.stringify(answer), eventId);
  const row = get("SELECT answer FROM answers WHERE event_id = ?", eventId);
  return row ? JSON.parse(text(row.answer)) : answer;
}

const INSERT_ANSWER = `
  INSERT INTO answers (event_id, answer) SELECT id, ? FROM events WHERE id = ? ON CONFLICT DO NOTHING`;

export function pauseMapping(database: Database, mapping: string, at: number): boolean {
  return database.run("INSERT INTO pauses (mapping, since) VALUES (?, ?) ON CONFLICT DO NOTHING", mapping, at) > 0;
}

export function resumeMapping(transaction: Transaction, mapping: string): boolean {
  const isResumed = transaction.run("DELETE FROM pauses WHERE mapping = ?", mapping) > 0;
  if (isResumed) transaction.announce("run");
  return isResumed;
}

export function isPaused(database: Database, mapping: string | undefined): boolean {
  return mapping !== undefined && database.get("SELECT 1 FROM pauses WHERE mapping = ?", mapping) !== undefined;
}
