import { MAIN_SESSION } from "../types.ts";
import type { Database } from "../storage/database.ts";
import { insertDeliveries } from "./deliveries.ts";
import { consumeSystemEvents, insertEntries } from "./entries.ts";
import type { TurnOutcome } from "./port.ts";
import { toOutcome } from "./rows.ts";

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
