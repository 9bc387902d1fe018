import type { ActionReceipt, Receipt } from "../../types.ts";
import type { AcceptResult, CoalesceWindow, Idempotency, NewAction, NewEvent, StoredRequest } from "../journal.ts";
import { type Database, type SqlRow, text } from "./database.ts";
import { insertEntry } from "./entries.ts";
import type { Transaction } from "./group-commit.ts";

/*
 * An accept inserts with `OR FAIL`: if a statement fails, the whole transaction is undone. To undo only the statement,
 * SQLite would keep a copy of every page that it is about to change.
 */

export function acceptEvent(transaction: Transaction, event: NewEvent): AcceptResult {
  const plan = planEvent(transaction, event);
  if (plan.kind !== "commit") return plan;
  insertEvent(transaction, event, plan);
  for (const action of plan.actions) {
    if (!isRun(action)) insertEntry(transaction, action.entry);
    else if (action.joins) insertJoined(transaction, event.id, action);
    else insertRun(transaction, event, action);
  }
  transaction.report({ kind: "event", id: event.id });
  if (event.idempotency) rememberKeys(transaction, event.idempotency, plan.keys);
  return { kind: "committed", receipt: { ...plan.receipt, replayed: false } };
}

/** The `detail` column: what no condition of a list needs. */
export interface EventDetail extends Pick<NewEvent, "event" | "reason" | "warnings" | "log" | "took" | "failure"> {
  request: Omit<StoredRequest, "body">;
}

function insertEvent(database: Database, event: NewEvent, { receipt, actions }: Commit): void {
  const { id, hook, mapping, receivedAt, replayOf, credential, traceparent, reason, warnings, log, took, failure } =
    event;
  const { body, ...request } = event.request;
  const { event: name } = event;
  const detail = JSON.stringify({ request, event: name, reason, warnings, log, took, failure } satisfies EventDetail);
  const origin = [id, hook, mapping, receivedAt, replayOf, credential, traceparent];
  const seq = database.insert(INSERT_EVENT, ...origin, JSON.stringify(receipt.actions), detail, body);
  // Two actions of one event can be in one run.
  const open = new Set(actions.filter(isRun).map(({ runId }) => runId)).size;
  // Wakes are done with this commit.
  const status = event.status === "accepted" && open === 0 ? "done" : event.status;
  database.run(INSERT_EVENT_STATE, seq, hook, status, open);
}

const INSERT_EVENT = `
  INSERT OR FAIL INTO events (id, hook, mapping, received_at, replay_of, credential, traceparent, actions, detail, body)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

const INSERT_EVENT_STATE = "INSERT OR FAIL INTO event_states (seq, hook, status, open, lost) VALUES (?, ?, ?, ?, 0)";

type NewRun = Extract<NewAction, { runId: string }>;

function isRun(accepted: NewAction): accepted is NewRun {
  return "runId" in accepted;
}

/** Of a session's unfinished runs the oldest is ready or running, the others are queued: a claim never looks at them. */
function insertRun(transaction: Transaction, event: NewEvent, { runId, action, window }: NewRun): void {
  // A run whose window has closed may still be queued.
  if (window) transaction.run("UPDATE runs SET coalesce_key = NULL WHERE coalesce_key = ?", window.key);
  const { id, hook, mapping = "", receivedAt } = event;
  const { key, closesAt } = window ?? { closesAt: receivedAt };
  const seq = transaction.insert(INSERT_RUN, runId, id, hook, mapping, action.sessionKey, key, receivedAt, closesAt);
  transaction.run("INSERT INTO run_actions (run_seq, action) VALUES (?, ?)", seq, JSON.stringify(action));
  transaction.announce("run");
}

const INSERT_RUN = `
  INSERT OR FAIL INTO runs (id, kind, event_id, hook, mapping, session_key, coalesce_key, state, attempts, created_at, due_at)
  VALUES (?1, 'hook', ?2, ?3, ?4, ?5, ?6,
    iif(EXISTS (SELECT 1 FROM runs WHERE session_key = ?5 AND finished_at IS NULL), 'queued', 'ready'), 0, ?7, ?8)`;

/** How many messages of joined events a run stores; the others are only counted. */
export const MAX_JOINED_MESSAGES = 100;

function insertJoined(database: Database, eventId: string, { runId, action }: NewRun): void {
  database.run(INSERT_JOINED, runId, eventId, action.message);
}

const INSERT_JOINED = `
  INSERT INTO joined_events (run_seq, place, event_id, message)
  SELECT seq, place, ?2, iif(place <= ${MAX_JOINED_MESSAGES}, ?3, NULL) FROM (
    SELECT seq, 1 + (SELECT coalesce(max(place), 0) FROM joined_events WHERE run_seq = seq) AS place
    FROM runs WHERE id = ?1)`;

/**
 * Adds to the counts of a run's event, and of those that joined it: `open` counts unfinished runs and deliveries, `lost`
 * those that failed permanently. With the last open one the event is done or dead. The row has the `event_id` and `run_id`.
 */
export function updateEventCounts(database: Database, row: SqlRow, change: { open: number; lost: number }): void {
  if (row.event_id !== null)
    database.run(UPDATE_COUNTS, text(row.event_id), change.open, change.lost, text(row.run_id));
}

const UPDATE_COUNTS = `
  UPDATE event_states SET open = open + ?2, lost = lost + ?3,
    status = CASE WHEN open + ?2 > 0 THEN 'accepted' WHEN lost + ?3 > 0 THEN 'dead' ELSE 'done' END
  WHERE seq IN (SELECT seq FROM events WHERE id IN (
    SELECT ?1 UNION
    SELECT joined_events.event_id FROM joined_events JOIN runs ON seq = run_seq WHERE runs.id = ?4))`;

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

/**
 * For the actions of one event, in order: gives each unchanged, or joining a run whose window is open. A run with a window
 * waits until it closes; until its first claim, which clears its key, it is due then.
 */
function createJoiner(database: Database, now: number): Join {
  const opened = new Map<string, { runId: string; sessionKey: string }>();

  return function join(accepted) {
    if (!isRun(accepted) || !accepted.window) return accepted;
    const { window, action, runId } = accepted;
    const open = opened.get(window.key) ?? findOpen(database, window, now);
    if (open) return { runId: open.runId, action: { ...action, sessionKey: open.sessionKey }, joins: true };
    opened.set(window.key, { runId, sessionKey: action.sessionKey });
    return accepted;
  };
}

function findOpen(database: Database, { key }: CoalesceWindow, now: number) {
  const row = database.get("SELECT id, session_key FROM runs WHERE coalesce_key = ? AND due_at > ?", key, now);
  return row && { runId: text(row.id), sessionKey: text(row.session_key) };
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

/** The event of the key is not done. */
export const IS_UNFINISHED = `EXISTS (
  SELECT 1 FROM events JOIN event_states USING (seq) WHERE id = idempotency_keys.receipt ->> 'eventId' AND status = 'accepted')`;
