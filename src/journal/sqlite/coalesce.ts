import type { CoalesceWindow, NewAction, Run } from "../journal.ts";
import { type Database, integer, type SqlRow, text } from "./database.ts";
import { toRun } from "./rows.ts";

/*
 * A run with a window waits until it closes. Until then the actions of later events with the same key join it instead of
 * getting their own runs.
 */

/** How many messages of joined events a run stores; the others are only counted. */
const MAX_MESSAGES = 100;

type AgentAction = Extract<NewAction, { runId: string }>;

/** For the actions of one event, in order: gives each unchanged, or joining a run whose window is open at `now`. */
export function createJoiner(database: Database, now: number): (accepted: NewAction) => NewAction {
  const opened = new Map<string, OpenRun>();

  return function join(accepted) {
    if (!("runId" in accepted) || !accepted.window) return accepted;
    const { window, action } = accepted;
    const open = opened.get(window.key) ?? findOpen(database, window.key, now);
    if (open) return { runId: open.runId, action: { ...action, sessionKey: open.sessionKey }, joins: true };
    opened.set(window.key, { runId: accepted.runId, sessionKey: action.sessionKey });
    return accepted;
  };
}

/** Takes the key from a run that is still queued although its window has closed. */
export function releaseWindow(database: Database, { key }: CoalesceWindow): void {
  database.run("UPDATE runs SET coalesce_key = NULL WHERE coalesce_key = ?", key);
}

export function insertJoined(database: Database, eventId: string, { runId, action }: AgentAction): void {
  database.run(
    `INSERT INTO joined_events (run_seq, place, event_id, message)
     SELECT seq, place, ?2, iif(place <= ${MAX_MESSAGES}, ?3, NULL) FROM (
       SELECT seq, 1 + (SELECT coalesce(max(place), 0) FROM joined_events WHERE run_seq = seq) AS place
       FROM runs WHERE id = ?1)`,
    runId,
    eventId,
    action.message,
  );
}

/** The run of a row, with the messages that joined it. */
export function readRun(database: Database, row: SqlRow): Run {
  const run = toRun(row);
  return run.action?.coalesce ? { ...run, joined: listJoined(database, integer(row.seq)) } : run;
}

function listJoined(database: Database, runSeq: number): Run["joined"] {
  const last = database.get("SELECT max(place) AS place FROM joined_events WHERE run_seq = ?", runSeq);
  if (last?.place === null) return undefined;
  const rows = database.all(
    `SELECT message FROM joined_events WHERE run_seq = ? AND place <= ${MAX_MESSAGES} ORDER BY place`,
    runSeq,
  );
  return { messages: rows.map((row) => text(row.message)), leftOut: integer(last?.place) - rows.length };
}

interface OpenRun {
  runId: string;
  sessionKey: string;
}

/** Until its first claim a run is due when its window closes; a claim clears its key. */
function findOpen(database: Database, key: string, now: number): OpenRun | undefined {
  const row = database.get("SELECT id, session_key FROM runs WHERE coalesce_key = ? AND due_at > ?", key, now);
  return row && { runId: text(row.id), sessionKey: text(row.session_key) };
}
