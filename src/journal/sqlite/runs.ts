import { type AgentAction, MAIN_SESSION } from "../../types.ts";
import type { CoalesceWindow, NewEntry, TurnOutcome } from "../journal.ts";
import { releaseWindow } from "./coalesce.ts";
import { type Database, optional, text } from "./database.ts";
import { insertDeliveries } from "./deliveries.ts";
import { consumeSystemEvents, insertEntries } from "./entries.ts";
import { bookEvent } from "./event-states.ts";
import { toOutcome } from "./rows.ts";

/*
 * Of a session's unfinished runs the oldest is its head: ready or running. The others are queued, so that a claim never
 * looks at them.
 */

export function insertRun(
  database: Database,
  event: { id: string; hook: string; mapping?: string; receivedAt: number },
  { runId, action, window }: { runId: string; action: AgentAction; window?: CoalesceWindow },
): void {
  if (window) releaseWindow(database, window);
  database.run(
    `INSERT OR FAIL INTO runs (id, kind, event_id, hook, mapping, session_key, coalesce_key, state, attempts, created_at, due_at)
     VALUES (?1, 'hook', ?2, ?3, ?4, ?5, ?6,
       iif(EXISTS (SELECT 1 FROM runs WHERE session_key = ?5 AND finished_at IS NULL), 'queued', 'ready'), 0, ?7, ?8)`,
    runId,
    event.id,
    event.hook,
    event.mapping ?? "",
    action.sessionKey,
    window?.key,
    event.receivedAt,
    window?.closesAt ?? event.receivedAt,
  );
  database.run("INSERT INTO run_actions (run_seq, action) VALUES (last_insert_rowid(), ?)", JSON.stringify(action));
}

/** The journal's `completeRun`. Nothing where the run is not running. */
export function completeRun(database: Database, runId: string, outcome: TurnOutcome): void {
  const run = endRun(database, runId, {
    state: "done",
    finishedAt: outcome.finishedAt,
    outcome: toOutcome(outcome),
  });
  if (!run) return;
  insertEntries(database, outcome.entries);
  insertDeliveries(database, outcome.deliveries, outcome.finishedAt);
  // After its deliveries, which keep the event open.
  bookEvent(database, run, { open: -1, lost: 0 });
}

/** The journal's `buryRun`. Nothing where the run is not running. */
export function buryRun(
  database: Database,
  runId: string,
  failure: { finishedAt: number; error: string; entries: NewEntry[] },
): void {
  const run = endRun(database, runId, {
    state: "dead",
    finishedAt: failure.finishedAt,
    error: failure.error,
  });
  if (!run) return;
  insertEntries(database, failure.entries);
  bookEvent(database, run, { open: -1, lost: 1 });
}

/** The journal's `retryRun`. The run stays its session's head. */
export function retryRun(database: Database, runId: string, dueAt: number, error: string): void {
  database.run(
    "UPDATE runs SET state = 'ready', due_at = ?, error = ? WHERE id = ? AND state = 'running'",
    Math.ceil(dueAt),
    error,
    runId,
  );
}

/** Gives a dead run of a hook its tries anew, behind what its session has under way. False where there is none. */
export function reviveRun(database: Database, runId: string, now: number): boolean {
  const row = database.get(
    `UPDATE runs SET attempts = 0, due_at = ?2, started_at = NULL, finished_at = NULL, error = NULL,
       state = iif(EXISTS (SELECT 1 FROM runs AS other
         WHERE other.session_key = runs.session_key AND other.finished_at IS NULL), 'queued', 'ready')
     WHERE id = ?1 AND state = 'dead' AND kind = 'hook' RETURNING event_id`,
    runId,
    now,
  );
  if (row) bookEvent(database, { eventId: optional(text, row.event_id), runId }, { open: 1, lost: -1 });
  return row !== undefined;
}

/** Counts a dead run of a hook as lost no longer. False where there is none. */
export function dropRun(database: Database, runId: string): boolean {
  const row = database.get(
    "UPDATE runs SET state = 'dropped' WHERE id = ? AND state = 'dead' AND kind = 'hook' RETURNING event_id",
    runId,
  );
  if (row) bookEvent(database, { eventId: optional(text, row.event_id), runId }, { open: 0, lost: -1 });
  return row !== undefined;
}

/** The journal's `releaseRun`. */
export function releaseRun(database: Database, runId: string): void {
  database.run("UPDATE runs SET state = 'ready', attempts = attempts - 1 WHERE id = ? AND state = 'running'", runId);
}

/** Runs that a process left behind may start again. Their tries count: one of them may have ended it. */
export function releaseRuns(database: Database): number {
  return database.run("UPDATE runs SET state = 'ready' WHERE state = 'running'");
}

interface End {
  state: "done" | "dead";
  finishedAt: number;
  error?: string;
  outcome?: string;
}

/** Ends a running run and makes the next of its session ready. Gives undefined where it is not running. */
function endRun(
  database: Database,
  runId: string,
  end: End,
): { eventId: string | undefined; runId: string } | undefined {
  const row = database.get(
    `UPDATE runs SET state = ?, finished_at = ?, error = ?, outcome = ? WHERE id = ? AND state = 'running'
     RETURNING event_id, session_key`,
    end.state,
    end.finishedAt,
    end.error,
    end.outcome,
    runId,
  );
  if (!row) return undefined;
  promoteNext(database, text(row.session_key));
  return { eventId: optional(text, row.event_id), runId };
}

function promoteNext(database: Database, sessionKey: string): void {
  database.run(
    `UPDATE runs SET state = 'ready' WHERE seq =
       (SELECT seq FROM runs WHERE session_key = ? AND finished_at IS NULL ORDER BY seq LIMIT 1)`,
    sessionKey,
  );
}

/*
 * A heartbeat waits in no queue: its run is recorded when it has ended. One that is recorded already is left as it is.
 */

/** The journal's `completeHeartbeat`. */
export function completeHeartbeat(
  database: Database,
  run: { id: string; startedAt: number; consumedSeqs: number[] },
  outcome: TurnOutcome,
): void {
  const added = insertHeartbeat(database, {
    ...run,
    state: "done",
    finishedAt: outcome.finishedAt,
    outcome: toOutcome(outcome),
  });
  if (!added) return;
  insertEntries(database, outcome.entries);
  insertDeliveries(database, outcome.deliveries, outcome.finishedAt);
  consumeSystemEvents(database, run.consumedSeqs);
}

/** The journal's `failHeartbeat`. */
export function failHeartbeat(
  database: Database,
  run: { id: string; startedAt: number; finishedAt: number; error: string },
): void {
  insertHeartbeat(database, { ...run, state: "dead" });
}

interface Heartbeat {
  id: string;
  state: "done" | "dead";
  startedAt: number;
  finishedAt: number;
  error?: string;
  outcome?: string;
}

/** Gives false where the heartbeat was recorded before. */
function insertHeartbeat(database: Database, heartbeat: Heartbeat): boolean {
  const added = database.run(
    `INSERT INTO runs
       (id, kind, session_key, state, attempts, created_at, due_at, started_at, finished_at, error, outcome)
     VALUES (?1, 'heartbeat', '${MAIN_SESSION}', ?2, 1, ?3, ?3, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING`,
    heartbeat.id,
    heartbeat.state,
    heartbeat.startedAt,
    heartbeat.finishedAt,
    heartbeat.error,
    heartbeat.outcome,
  );
  return added > 0;
}
