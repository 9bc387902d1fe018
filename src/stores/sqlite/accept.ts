import {
  type Commit,
  countRuns,
  findSettled,
  firstStatus,
  isNone,
  isRun,
  type Known,
  type KnownKey,
  type NewKeys,
  planEvent,
  toFailed,
  toReplay,
} from "../../core/journal/plan.ts";
import type { AcceptResult, NewEvent } from "../../core/journal/records/event.ts";
import type { NewEntry } from "../../core/journal/records/session.ts";
import { text } from "../../core/journal/columns.ts";
import { fromEvent } from "../../core/journal/rows.ts";
import { FAILED_REQUEST } from "../../core/journal/conditions.ts";
import { MAX_CORRECTION_MS } from "../../core/journal/waits.ts";
import type { Database } from "./database.ts";
import { insertEntry } from "./entries.ts";
import type { Transaction } from "./group-commit.ts";
import { insertPublication } from "./publications.ts";
import { writeState } from "./state.ts";
import { IS_UNFINISHED_KEY } from "./read.ts";
import { insertJoined, insertRun } from "./runs.ts";

/*
 * An accept inserts with `OR FAIL`: if a statement fails, the whole transaction is undone. To undo only the statement,
 * SQLite would keep a copy of every page that it is about to change.
 */

export function acceptEvent(transaction: Transaction, event: NewEvent): AcceptResult {
  const plan = planEvent(event, knownAt(transaction, event.receivedAt));
  if (plan.kind === "conflict" || plan.kind === "forged") return plan;
  const refusal = plan.kind === "commit" && event.state && writeState(transaction, event, event.state);
  if (refusal) return refusal;
  if (event.idempotency) rememberKeys(transaction, event.idempotency.scope, plan.keys);
  if (plan.kind === "replayed") return { kind: plan.kind, receipt: plan.receipt };
  const { actions, receipt } = plan;
  const seq = transaction.counters.nextSeq();
  insertEvent(transaction, event, plan, seq);
  for (const action of actions) {
    if (action.publication) insertPublication(transaction, action.publication);
    if (isNone(action)) continue;
    if (!isRun(action))
      insertEntry(transaction, withoutHaste(transaction, event, action.entry), {
        eventSeq: seq,
      });
    else if (action.joins) insertJoined(transaction, seq, action);
    else insertRun(transaction, event, action, seq);
  }
  transaction.report({ kind: "event", id: event.id });
  return { kind: "committed", receipt: { ...receipt, replayed: false } };
}

/** The wake of a paused mapping is noted, and starts no heartbeat. */
function withoutHaste(database: Database, { mapping }: NewEvent, entry: NewEntry): NewEntry {
  const isPaused =
    entry.urgent && mapping !== undefined && database.get("SELECT 1 FROM pauses WHERE mapping = ?", mapping);
  return isPaused ? { ...entry, urgent: false } : entry;
}

function insertEvent(transaction: Transaction, event: NewEvent, plan: Commit, seq: number): void {
  const { id, hook, receivedAt, request } = event;
  const open = countRuns(plan.actions);
  const status = firstStatus(event, open);
  const { dead, failureGroup } = toFailed(event);
  const detail = fromEvent(event, plan);
  transaction.run(INSERT_EVENT, seq, id, hook, status, open, dead, receivedAt, failureGroup, detail);
  const settled = findSettled(event);
  if (settled !== undefined && transaction.run(SETTLE, id, settled) > 0)
    transaction.report({ kind: "event", id: settled });
  transaction.counters.add({ events: 1 });
  if (request.body.length === 0) return;
  transaction.run("INSERT OR FAIL INTO bodies (event_seq, body) VALUES (?, ?)", seq, request.body);
}

const INSERT_EVENT = `
  INSERT OR FAIL INTO events (seq, id, hook, status, open, dead, received_at, failure_group, detail)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;

const SETTLE = `UPDATE OR FAIL events SET dead = 0, replay_id = ? WHERE id = ? AND ${FAILED_REQUEST}`;

/* Idempotency keys */

function knownAt(database: Database, now: number): Known {
  return {
    findKey: (scope, key) => findKey(database, scope, key, now),
    findOpenRun(windowKey) {
      // A run with a window waits until it closes; until its first claim, which clears its key, it is due then.
      const row = database.get(
        "SELECT id, session_key FROM runs WHERE coalesce_key = ? AND not_before > ? AND due_at <= ?",
        windowKey,
        now,
        now + MAX_CORRECTION_MS,
      );
      return row && { runId: text(row.id), sessionKey: text(row.session_key) };
    },
  };
}

export function findReplay(
  database: Database,
  scope: string,
  key: string,
  fingerprint: string,
): AcceptResult | undefined {
  const first = findKey(database, scope, key, Date.now());
  if (!first) return undefined;
  return first.fingerprint === fingerprint ? toReplay(first.receipt) : { kind: "conflict" };
}

/** The key's first use, unless it has expired by `now`. A key never expires while its event is unfinished. */
function findKey(database: Database, scope: string, key: string, now: number): KnownKey | undefined {
  const row = database.get(
    `SELECT fingerprint, receipt FROM idempotency_keys
     WHERE scope = ? AND key = ? AND (expires_at > ? OR ${IS_UNFINISHED_KEY})`,
    scope,
    key,
    now,
  );
  return row && { fingerprint: text(row.fingerprint), receipt: JSON.parse(text(row.receipt)) };
}

/** Stores the answer of each key, replacing expired ones. */
function rememberKeys(database: Database, scope: string, keys: NewKeys): void {
  for (const [key, { fingerprint, expiresAt, receipt }] of keys) {
    database.run(INSERT_KEY, scope, key, fingerprint, expiresAt, JSON.stringify(receipt));
  }
}

const INSERT_KEY = `
  INSERT OR REPLACE INTO idempotency_keys (scope, key, fingerprint, expires_at, receipt) VALUES (?, ?, ?, ?, ?)`;
