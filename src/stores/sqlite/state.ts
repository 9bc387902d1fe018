import type { NewState } from "../../core/types.ts";
import type { NewEvent } from "../../core/journal/records/event.ts";
import { integer, optional, text } from "../../core/journal/columns.ts";
import { findStateRefusal } from "../../core/journal/state-refusal.ts";
import type { Database } from "./database.ts";

/** Keeps what an event sets, or says why it cannot be committed. */
export function writeState(
  database: Database,
  { id: version }: NewEvent,
  state: NewState,
): ReturnType<typeof findStateRefusal> {
  const { name } = state;
  const now = Date.now();
  const refusal = findStateRefusal(state, {
    versionOf: (key) => optional(text, database.get(SELECT_VERSION, name, key, now)?.version ?? null),
    count() {
      // They are no longer there for anybody, and must not take the place of others.
      database.run(`DELETE FROM state WHERE name = ? AND expires_at <= ?`, name, now);
      return integer(database.get("SELECT count(*) AS count FROM state WHERE name = ?", name)?.count);
    },
  });
  if (refusal) return refusal;
  for (const { key, json, ttlMs } of state.sets) {
    if (json === undefined) database.run("DELETE FROM state WHERE name = ? AND key = ?", name, key);
    else database.run(REPLACE_KEY, name, key, version, ttlMs === undefined ? null : now + ttlMs, json);
  }
  return undefined;
}

const SELECT_VERSION = `
  SELECT version FROM state WHERE name = ? AND key = ? AND (expires_at IS NULL OR expires_at > ?)`;

const REPLACE_KEY = "INSERT OR REPLACE INTO state (name, key, version, expires_at, value) VALUES (?, ?, ?, ?, ?)";
