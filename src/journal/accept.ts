import type { Database } from "../storage/database.ts";
import { insertEntry } from "./entries.ts";
import { insertEventState } from "./event-states.ts";
import { findKey, rememberKeys } from "./idempotency.ts";
import { insertJoined } from "./joined-events.ts";
import { planEvent, type Commit } from "./plan.ts";
import type { AcceptResult, NewAction, NewEvent } from "./port.ts";
import { toDetail } from "./rows.ts";
import { insertRun } from "./runs.ts";

/*
 * What an accept inserts, it inserts `OR FAIL`: where a statement fails, the whole transaction is undone. To undo just the
 * statement, SQLite would keep a copy of every page that it is about to change.
 */

/** The journal's `accept`, inside a transaction. */
export function acceptEvent(database: Database, event: NewEvent): AcceptResult {
  const plan = planEvent(database, event);
  if (plan.kind !== "commit") return plan;
  insertEvent(database, event, plan);
  for (const action of plan.actions) insertAction(database, event, action);
  if (event.idempotency) rememberKeys(database, event.idempotency, plan.keys);
  return { kind: "committed", receipt: { ...plan.receipt, replayed: false } };
}

/** The journal's `findReplay`: reads only. */
export function findReplay(
  database: Database,
  scope: string,
  key: string,
  fingerprint: string,
): AcceptResult | undefined {
  const first = findKey(database, scope, key, Date.now());
  if (!first) return undefined;
  if (first.fingerprint !== fingerprint) return { kind: "conflict" };
  return { kind: "replayed", receipt: { ...first.receipt, replayed: true } };
}

function insertEvent(database: Database, event: NewEvent, commit: Commit): void {
  database.run(
    `INSERT OR FAIL INTO events (id, hook, mapping, received_at, replay_of, actions, detail, body)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    event.id,
    event.hook,
    event.mapping,
    event.receivedAt,
    event.replayOf,
    JSON.stringify(commit.receipt.actions),
    toDetail(event),
    event.request.body,
  );
  // Two actions of one event can be in one run.
  const open = new Set(commit.actions.filter(isRun).map(({ runId }) => runId)).size;
  // Wakes are carried out by this very commit.
  const status = event.status === "accepted" && open === 0 ? "done" : event.status;
  insertEventState(database, { hook: event.hook, status, open });
}

function insertAction(database: Database, event: NewEvent, accepted: NewAction): void {
  if (!isRun(accepted)) insertEntry(database, accepted.entry);
  else if (accepted.joins) insertJoined(database, event.id, accepted);
  else insertRun(database, event, accepted);
}

function isRun(accepted: NewAction): accepted is Extract<NewAction, { runId: string }> {
  return "runId" in accepted;
}
