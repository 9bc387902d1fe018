import type { NewNote } from "../records/node.ts";
import type { Sql } from "./database.ts";
import type { Transaction } from "./transaction.ts";

export async function writeNotes({ run, clockOffsetMs }: Transaction, notes: NewNote[]): Promise<void> {
  for (const { kind, key, json, expiresAt } of notes) {
    if (json === undefined) await run("DELETE FROM hookline.notes WHERE kind = $1 AND key = $2", [kind, key]);
    else await run(REPLACE, [kind, key, expiresAt === undefined ? null : expiresAt + clockOffsetMs, json]);
  }
}

const REPLACE = `
  INSERT INTO hookline.notes (kind, key, expires_at, value) VALUES ($1, $2, $3, $4)
  ON CONFLICT (kind, key) DO UPDATE SET expires_at = excluded.expires_at, value = excluded.value`;

/** Gives how many expired notes it deleted. */
export function sweepNotes({ run }: Sql, now: number, limit: number): Promise<number> {
  return run(
    `DELETE FROM hookline.notes WHERE (kind, key) IN (
       SELECT kind, key FROM hookline.notes WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)`,
    [now, limit],
  );
}
