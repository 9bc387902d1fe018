import type { ActionReceipt, Receipt } from "../../types.ts";
import type { AcceptResult, Idempotency, NewAction, NewEvent, Retention } from "../journal.ts";
import { createJoiner, insertJoined } from "./coalesce.ts";
import { type Database, integer, text } from "./database.ts";
import { insertEntry } from "./entries.ts";
import { insertEventState } from "./event-states.ts";
import type { Transaction } from "./group-commit.ts";
import { toDetail } from "./rows.ts";
import { insertRun } from "./runs.ts";

/*
 * An accept inserts with `OR FAIL`: if a statement fails, the whole transaction is undone. To undo only the statement,
 * SQLite would keep a copy of every page that it is about to change.
 */

export function acceptEvent(transaction: Transaction, event: NewEvent): AcceptResult {
  const plan = planEvent(transaction, event);
  if (plan.kind !== "commit") return plan;
  insertEvent(transaction, event, plan);
  for (const action of plan.actions) insertAction(transaction, event, action);
  if (event.idempotency) rememberKeys(transaction, event.idempotency, plan.keys);
  return { kind: "committed", receipt: { ...plan.receipt, replayed: false } };
}

function insertEvent(transaction: Transaction, event: NewEvent, { receipt, actions }: Commit): void {
  const { id, hook } = event;
  const { mapping, receivedAt, replayOf, credential, traceparent } = event;
  const origin = [id, hook, mapping, receivedAt, replayOf, credential, traceparent];
  const content = [JSON.stringify(receipt.actions), toDetail(event), event.request.body];
  const seq = transaction.insert(INSERT_EVENT, ...origin, ...content);
  // Two actions of one event can be in one run.
  const open = new Set(actions.filter(isRun).map(({ runId }) => runId)).size;
  // Wakes are done with this commit.
  const status = event.status === "accepted" && open === 0 ? "done" : event.status;
  insertEventState(transaction, { seq, id, hook, status, open });
}

const INSERT_EVENT = `
  INSERT OR FAIL INTO events (id, hook, mapping, received_at, replay_of, credential, traceparent, actions, detail, body)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

function insertAction(transaction: Transaction, event: NewEvent, accepted: NewAction): void {
  if (!isRun(accepted)) insertEntry(transaction, accepted.entry);
  else if (accepted.joins) insertJoined(transaction, event.id, accepted);
  else insertRun(transaction, event, accepted);
}

function isRun(accepted: NewAction): accepted is Extract<NewAction, { runId: string }> {
  return "runId" in accepted;
}

/* Planning decides what an event adds to what is known. It writes nothing. */

interface Commit {
  kind: "commit";
  receipt: FirstReceipt;
  /** Actions that were not accepted before. */
  actions: NewAction[];
  /** What later uses of its keys are answered. */
  keys: Map<string, FirstReceipt>;
}

/** The first answer under a key. */
type FirstReceipt = Omit<Receipt, "replayed">;

type Plan = Commit | Exclude<AcceptResult, { kind: "committed" }>;

/** Called once for each new action, in order. */
type Join = (accepted: NewAction) => NewAction;

function planEvent(database: Database, event: NewEvent): Plan {
  const join = createJoiner(database, event.receivedAt);
  const { idempotency: use, status } = event;
  // A refused request leaves its key free, so that it can be sent again once the cause is fixed.
  if (!use || status === "rejected" || status === "failed") return planCommit(event, join);
  const known = findKnown(database, use, event.receivedAt);
  if (use.conflictOnOtherContent && hasOtherContent(known, use.fingerprint)) return { kind: "conflict" };
  return use.perAction ? planEach(event, { use, known, join }) : planWhole(event, { use, known, join });
}

interface Use {
  use: Idempotency;
  known: Map<string, KnownKey>;
  join: Join;
}

/** The keys that were used before, in the event's order. */
function findKnown(database: Database, use: Idempotency, now: number): Use["known"] {
  const known: Use["known"] = new Map();
  for (const key of use.keys) {
    const first = key === "" ? undefined : findKey(database, use.scope, key, now);
    if (first) known.set(key, first);
  }
  return known;
}

function hasOtherContent(known: Use["known"], fingerprint: string): boolean {
  return [...known.values()].some((first) => first.fingerprint !== fingerprint);
}

function planWhole(event: NewEvent, { use, known, join }: Use): Plan {
  const [first] = known.values();
  if (first) return { kind: "replayed", receipt: { ...first.receipt, replayed: true } };
  const commit = planCommit(event, join);
  for (const key of use.keys) if (key !== "") commit.keys.set(key, commit.receipt);
  return commit;
}

/** An action whose key was used before, here or in an earlier event, is dropped; it gets the first one's receipt. */
function planEach(event: NewEvent, { use, known, join }: Use): Plan {
  const commit: Commit = { kind: "commit", receipt: toReceipt(event, []), actions: [], keys: new Map() };
  for (const [index, action] of event.actions.entries()) {
    const key = use.keys[index] ?? "";
    const first = known.get(key)?.receipt ?? commit.keys.get(key);
    if (first) {
      commit.receipt.actions.push(...first.actions);
      continue;
    }
    const own = join(action);
    commit.actions.push(own);
    commit.receipt.actions.push(toActionReceipt(own));
    if (key !== "") commit.keys.set(key, toReceipt(event, [own]));
  }
  const [first] = known.values();
  if (!first || commit.actions.length > 0) return commit;
  return { kind: "replayed", receipt: { ...commit.receipt, eventId: first.receipt.eventId, replayed: true } };
}

function planCommit(event: NewEvent, join: Join): Commit {
  const actions = event.actions.map(join);
  return { kind: "commit", receipt: toReceipt(event, actions), actions, keys: new Map() };
}

function toReceipt(event: NewEvent, actions: NewAction[]): FirstReceipt {
  return { eventId: event.id, actions: actions.map(toActionReceipt), warnings: event.warnings };
}

function toActionReceipt(accepted: NewAction): ActionReceipt {
  if (!isRun(accepted)) return { kind: "wake", mode: accepted.action.mode };
  const { runId, action, joins } = accepted;
  return { kind: "agent", runId, sessionKey: action.sessionKey, ...(joins && { coalesced: true }) };
}

/* Idempotency keys */

/** Most keys that one sweep deletes: it blocks the event loop. */
const SWEEP_BATCH = 500;

interface KnownKey {
  fingerprint: string;
  receipt: FirstReceipt;
}

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
  receipts: Map<string, FirstReceipt>,
): void {
  for (const [key, receipt] of receipts) {
    database.run(INSERT_KEY, scope, key, fingerprint, expiresAt, JSON.stringify(receipt));
  }
}

const INSERT_KEY = `
  INSERT OR REPLACE INTO idempotency_keys (scope, key, fingerprint, expires_at, receipt) VALUES (?, ?, ?, ?, ?)`;

/** Deletes a batch of keys that have expired or exceed `maxKeys`, except those of unfinished events. Gives how many. */
export function sweepKeys(database: Database, { now, maxKeys = Infinity }: Retention): number {
  return database.run(
    `DELETE FROM idempotency_keys WHERE (scope, key) IN
       (SELECT scope, key FROM
         (SELECT * FROM idempotency_keys WHERE expires_at <= ? ORDER BY expires_at LIMIT ${SWEEP_BATCH})
        AS idempotency_keys WHERE NOT ${IS_UNFINISHED})`,
    Math.max(now, expiryOfExcess(database, maxKeys)),
  );
}

/** When the newest key beyond `maxKeys` expires; 0 if there is none. */
function expiryOfExcess(database: Database, maxKeys: number): number {
  if (maxKeys === Infinity) return 0;
  const row = database.get(
    "SELECT expires_at FROM idempotency_keys ORDER BY expires_at DESC LIMIT 1 OFFSET ?",
    maxKeys,
  );
  return row ? integer(row.expires_at) : 0;
}

const IS_UNFINISHED = `EXISTS (
  SELECT 1 FROM events JOIN event_states USING (seq) WHERE id = idempotency_keys.receipt ->> 'eventId' AND status = 'accepted')`;
