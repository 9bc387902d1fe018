import type { NewEntry } from "../../core/journal/journal.ts";
import type { ChangeReport } from "../../core/journal/writes/writer.ts";
import type { Batch } from "./transaction.ts";

/** `claim`: with a condition, the id of the run that it belongs to. */
export type AddedEntry = NewEntry & { claim?: string };

/** Adds to the end of the entries' sessions; the first entry creates the session. */
export function addEntries(batch: Batch, entries: AddedEntry[], condition = "true"): void {
  if (entries.length === 0) return;
  const rows = entries.map((entry, ord) => ({
    ord,
    claim: entry.claim,
    session_key: entry.sessionKey,
    role: entry.role,
    at: entry.at,
    event_id: entry.eventId,
    run_id: entry.runId,
    pending: Number(entry.pending ?? false),
    urgent: Number(entry.urgent ?? false),
    boundary: entry.boundary && JSON.stringify(entry.boundary),
    sources: entry.sources && JSON.stringify(entry.sources),
    text: entry.text,
  }));
  batch.add(
    "entry",
    rows,
    `SELECT * FROM json_to_recordset($rows) AS row (ord integer, claim uuid, session_key text, role text, at bigint,
       event_id uuid, run_id uuid, pending integer, urgent integer, boundary text, sources text, text text) WHERE ${condition}`,
  );
  // Sorted, so that two transactions cannot wait for each other in a circle.
  batch.addOver(
    "extended_sessions",
    `INSERT INTO hookline.sessions AS session (key, created_at, updated_at, entries)
     SELECT session_key, min(at), max(at), count(*) FROM entry GROUP BY session_key ORDER BY session_key COLLATE "C"
     ON CONFLICT (key) DO UPDATE SET updated_at = greatest(session.updated_at, excluded.updated_at),
       entries = session.entries + excluded.entries RETURNING 1`,
  );
  // Numbered once the sessions are locked, until the commit: a session's entries appear in the order of their numbers. Without
  // the condition PostgreSQL chooses the order of both.
  batch.addOver(
    "new_entries",
    `INSERT INTO hookline.entries (session_key, role, at, event_id, run_id, pending, urgent, boundary, sources, text)
     SELECT session_key, role, at, event_id, run_id, pending, urgent, boundary, sources, text FROM entry
     WHERE (SELECT count(*) FROM extended_sessions) > 0 ORDER BY ord`,
  );
}

export function reportsOfEntries(entries: NewEntry[]): ChangeReport[] {
  return entries.map(({ sessionKey }) => ({ kind: "session", key: sessionKey }));
}
