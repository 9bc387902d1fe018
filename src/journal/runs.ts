import type { AgentAction } from "../types.ts";
import { optional, text } from "./columns.ts";
import type { Database } from "./database.ts";
import { insertDeliveries } from "./deliveries.ts";
import { insertEntries } from "./entries.ts";
import { bookEvent } from "./event-states.ts";
import type { NewEntry, Run, TurnOutcome } from "./port.ts";
import { SELECT_RUNS, toOutcome, toRun } from "./rows.ts";

/*
 * Of a session's unfinished runs the oldest is its head: ready or running. The others are queued, so that a claim never
 * looks at them.
 */

export function insertRun(
  database: Database,
  event: { id: string; hook: string; receivedAt: number },
  { runId, action }: { runId: string; action: AgentAction },
): void {
  database.run(
    `INSERT INTO runs (id, kind, event_id, hook, session_key, state, attempts, created_at, due_at)
     VALUES (?1, 'hook', ?2, ?3, ?4,
       iif(EXISTS (SELECT 1 FROM runs WHERE session_key = ?4 AND finished_at IS NULL), 'queued', 'ready'), 0, ?5, ?5)`,
    runId,
    event.id,
    event.hook,
    action.sessionKey,
    event.receivedAt,
  );
  database.run(
    "INSERT INTO run_actions (run_seq, action) VALUES (last_insert_rowid(), ?)",
    JSON.stringify(action),
  );
}

/** The journal's `claimRuns`. */
export function claimRuns(database: Database, limit: number, now: number): Run[] {
  // Left to itself SQLite takes the index of states, and sorts the whole backlog.
  const due = database.all(
    `${SELECT_RUNS} WHERE seq IN (
       SELECT seq FROM runs INDEXED BY runs_due WHERE state = 'ready' AND due_at <= ? ORDER BY due_at, seq LIMIT ?)
     ORDER BY due_at, seq`,
    now,
    limit,
  );
  return due.map((row) => {
    const run = toRun(row);
    database.run(
      "UPDATE runs SET state = 'running', attempts = attempts + 1, started_at = ? WHERE id = ?",
      now,
      run.id,
    );
    return { ...run, state: "running", attempts: run.attempts + 1, startedAt: now };
  });
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
  bookEvent(database, run.eventId, { open: -1, lost: 0 });
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
  bookEvent(database, run.eventId, { open: -1, lost: 1 });
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

/** Runs that a process left behind may start again. */
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
function endRun(database: Database, runId: string, end: End): { eventId: string | undefined } | undefined {
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
  return { eventId: optional(text, row.event_id) };
}

function promoteNext(database: Database, sessionKey: string): void {
  database.run(
    `UPDATE runs SET state = 'ready' WHERE seq =
       (SELECT seq FROM runs WHERE session_key = ? AND finished_at IS NULL ORDER BY seq LIMIT 1)`,
    sessionKey,
  );
}
