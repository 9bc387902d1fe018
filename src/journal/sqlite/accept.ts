import type { AcceptResult, Idempotency, NewEvent } from "../records.ts";
import { isRun, type Known, type KnownKey, planEvent, toReplay } from "../plan.ts";
import type { Database } from "./database.ts";
import { text } from "../rows.ts";
import { insertEntry } from "./entries.ts";
import { findInlineWake, insertEvent } from "./events.ts";
import type { Transaction } from "./group-commit.ts";
import { sourceOf } from "./pieces.ts";
import { insertJoined, insertRun } from "./runs.ts";

/*
 * An accept inserts with `OR FAIL`: if a statement fails, the whole transaction is undone. To undo only the statement,
 * SQLite would keep a copy of every page that it is about to change.
 */

export function acceptEvent(transaction: Transaction, event: NewEvent): AcceptResult {
  const plan = planEvent(event, knownAt(transaction, event.receivedAt));
  if (plan.kind !== "commit") return plan;
  const { actions, receipt, keys } = plan;
  const seq = transaction.tally.addEvent();
  const source = sourceOf(event.request.body);
  const wake = findInlineWake(event, actions);
  insertEvent(transaction, event, { seq, source, receipts: receipt.actions, actions, wake });
  for (const action of actions) {
    if (!isRun(action)) {
      if (action.entry !== wake) insertEntry(transaction, action.entry, { eventSeq: seq, source });
    } else if (action.joins) insertJoined(transaction, seq, action);
    else insertRun(transaction, event, action, { eventSeq: seq, source });
  }
  transaction.report({ kind: "event", id: event.id });
  if (event.idempotency) rememberKeys(transaction, event.idempotency, keys);
  return { kind: "committed", receipt: { ...receipt, replayed: false } };
}

/* Idempotency keys */

function knownAt(database: Database, now: number): Known {
  return {
    findKey: (scope, key) => findKey(database, scope, key, now),
    findOpenRun(windowKey) {
      // A run with a window waits until it closes; until its first claim, which clears its key, it is due then.
      const row = database.get(
        "SELECT id, session_key FROM runs WHERE coalesce_key = ? AND due_at > ?",
        windowKey,
        now,
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
     WHERE scope = ? AND key = ? AND (expires_at > ? OR ${IS_UNFINISHED})`,
    scope,
    key,
    now,
  );
  return row && { fingerprint: text(row.fingerprint), receipt: JSON.parse(text(row.receipt)) };
}

/** Stores the answer of each key, replacing expired ones. */
function rememberKeys(
  database: Database,
  { scope, fingerprint, expiresAt }: Idempotency,
  receipts: Map<string, KnownKey["receipt"]>,
): void {
  for (const [key, receipt] of receipts) {
    database.run(INSERT_KEY, scope, key, fingerprint, expiresAt, JSON.stringify(receipt));
  }
}

const INSERT_KEY = `
  INSERT OR REPLACE INTO idempotency_keys (scope, key, fingerprint, expires_at, receipt) VALUES (?, ?, ?, ?, ?)`;

/** The event of the key is not done. */
export const IS_UNFINISHED = `EXISTS (
  SELECT 1 FROM events WHERE id = idempotency_keys.receipt ->> 'eventId' AND status = 'accepted')`;
