import type { Entry, NewEntry } from "../journal.ts";
import { toEntry } from "./rows.ts";
import type { Sql } from "./database.ts";
import { type Batch, storable } from "./transaction.ts";

/** Adds to the end of the entries' sessions; the first entry creates the session. */
export function addEntries(batch: Batch, entries: NewEntry[]): void {
  const rows = entries.map((entry, ord) => ({
    ord,
    session_key: entry.sessionKey,
    role: entry.role,
    at: entry.at,
    event_id: entry.eventId,
    run_id: entry.runId,
    pending: Number(entry.pending ?? false),
    urgent: Number(entry.urgent ?? false),
    boundary: entry.boundary && JSON.stringify(entry.boundary),
    text: entry.text,
  }));
  // Sorted, so that two transactions cannot wait for each other in a circle.
  batch.add(
    "extended_sessions",
    entries.map(({ sessionKey, at }) => ({ key: sessionKey, at })),
    `INSERT INTO hookline.sessions AS session (key, created_at, updated_at, entries)
     SELECT key, min(at), max(at), count(*) FROM json_to_recordset($rows) AS row (key text, at bigint)
     GROUP BY key ORDER BY key COLLATE "C"
     ON CONFLICT (key) DO UPDATE SET updated_at = greatest(session.updated_at, excluded.updated_at),
       entries = session.entries + excluded.entries RETURNING 1`,
  );
  // Numbered once the sessions are locked, until the commit: a session's entries appear in the order of their numbers. Without
  // the condition PostgreSQL chooses the order of both.
  batch.add(
    "new_entries",
    rows,
    `INSERT INTO hookline.entries (session_key, role, at, event_id, run_id, pending, urgent, boundary, text)
     SELECT session_key, role, at, event_id, run_id, pending, urgent, boundary, text
     FROM json_to_recordset($rows) AS row (ord integer, session_key text, role text, at bigint, event_id uuid,
       run_id uuid, pending integer, urgent integer, boundary text, text text)
     WHERE (SELECT count(*) FROM extended_sessions) > 0 ORDER BY ord`,
  );
}

export async function listPendingSystemEvents({ all }: Sql, limit?: number): Promise<Entry[]> {
  const rows = await all("SELECT * FROM hookline.entries WHERE pending = 1 ORDER BY seq LIMIT $1", [limit]);
  return rows.map(toEntry);
}

export async function listTurns({ all }: Sql, sessionKey: string, limit: number): Promise<Entry[]> {
  const newestFirst = await all(
    "SELECT * FROM hookline.entries WHERE session_key = $1 AND role <> 'system' ORDER BY seq DESC LIMIT $2",
    [storable(sessionKey), limit],
  );
  return newestFirst.toReversed().map(toEntry);
}
