import type { NewNote } from "../records/node.ts";
import type { Database } from "./database.ts";

export function writeNotes(database: Database, notes: NewNote[]): void {
  for (const { kind, key, json, expiresAt } of notes) {
    if (json === undefined) database.run("DELETE FROM notes WHERE kind = ? AND key = ?", kind, key);
    else database.run(REPLACE, kind, key, expiresAt ?? null, json);
  }
}

const REPLACE = "INSERT OR REPLACE INTO notes (kind, key, expires_at, value) VALUES (?, ?, ?, ?)";

/** Gives how many expired notes it deleted. */
export function sweepNotes(database: Database, now: number, limit: number): number {
  return database.run(
    `DELETE FROM notes WHERE (kind, key) IN
       (SELECT kind, key FROM notes WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
    now,
    limit,
  );
}
