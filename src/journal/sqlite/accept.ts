import type { ActionReceipt, Receipt } from "../../types.ts";
import type { AcceptResult, Idempotency, NewAction, NewEvent, Retention } from "../journal.ts";
import { createJoiner, insertJoined } from "./coalesce.ts";
import { type Database, integer, text } from "./database.ts";
import { insertEntry } from "./entries.ts";
import { insertEventState } from "./event-states.ts";
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

/** What is to be committed of an event once the actions under known keys are taken out. */
interface Commit {
  kind: "commit";
  receipt: FirstReceipt;
  /** Actions that were not accepted before. */
  actions: NewAction[];
  /** What later uses of its keys are answered. */
  keys: Map<string, FirstReceipt>;
}

type Plan = Commit | Exclude<AcceptResult, { kind: "committed" }>;

/** Decides what an event adds to what is known. Writes nothing. */
function planEvent(database: Database, event: NewEvent): Plan {
  const use = event.idempotency;
  // A refused request leaves its key free, so that it can be sent again once it is mended.
  const join = createJoiner(database, event.receivedAt);
  if (!use || event.status === "rejected" || event.status === "failed") return commitWhole(event, join);
  const known = findKnown(database, use, event.receivedAt);
  if (use.conflictOnOtherContent && isOther(known, use.fingerprint)) return { kind: "conflict" };
  return use.perAction ? planEach(event, { use, known, join }) : planWhole(event, { use, known, join });
}

type KnownKeys = Map<string, KnownKey>;
type Join = (accepted: NewAction) => NewAction;

interface Use {
  use: Idempotency;
  known: KnownKeys;
  /** Called once for each action that is new, in their order. */
  join: Join;
}

/** The keys that were used before, in the event's order. An empty key is none. */
function findKnown(database: Database, use: Idempotency, now: number): KnownKeys {
  const known: KnownKeys = new Map();
  for (const key of use.keys) {
    const first = key === "" ? undefined : findKey(database, use.scope, key, now);
    if (first) known.set(key, first);
  }
  return known;
}

function isOther(known: KnownKeys, fingerprint: string): boolean {
  return [...known.values()].some((first) => first.fingerprint !== fingerprint);
}

function planWhole(event: NewEvent, { use, known, join }: Use): Plan {
  const [first] = known.values();
  if (first) return { kind: "replayed", receipt: { ...first.receipt, replayed: true } };
  const commit = commitWhole(event, join);
  for (const key of use.keys) if (key !== "") commit.keys.set(key, commit.receipt);
  return commit;
}

/** An action whose key was used before, here or in an earlier event, is dropped; the first one's receipt stands in. */
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

function commitWhole(event: NewEvent, join: Join): Commit {
  const actions = event.actions.map(join);
  return { kind: "commit", receipt: toReceipt(event, actions), actions, keys: new Map() };
}

function toReceipt(event: NewEvent, actions: NewAction[]): FirstReceipt {
  return { eventId: event.id, actions: actions.map(toActionReceipt), warnings: event.warnings };
}

function toActionReceipt(accepted: NewAction): ActionReceipt {
  if (!("runId" in accepted)) return { kind: "wake", mode: accepted.action.mode };
  const { runId, action, joins } = accepted;
  return { kind: "agent", runId, sessionKey: action.sessionKey, ...(joins && { coalesced: true }) };
}

/** Keys deleted by one commit, so that a large sweep does not block the event loop for long. */
const SWEEP_BATCH = 500;

/** What was first answered under a key. */
type FirstReceipt = Omit<Receipt, "replayed">;

interface KnownKey {
  fingerprint: string;
  receipt: FirstReceipt;
}

/** The key's first use, unless it has expired by `now`: not while its event is carried out. */
function findKey(database: Database, scope: string, key: string, now: number): KnownKey | undefined {
  const row = database.get(
    `SELECT fingerprint, receipt FROM idempotency_keys
     WHERE scope = ? AND key = ? AND (expires_at > ? OR ${IS_CARRIED_OUT})`,
    scope,
    key,
    now,
  );
  return row && { fingerprint: text(row.fingerprint), receipt: JSON.parse(text(row.receipt)) };
}

/** Keeps what each key was answered, in the place of an expired use. */
function rememberKeys(
  database: Database,
  use: { scope: string; fingerprint: string; expiresAt: number },
  receipts: Map<string, FirstReceipt>,
): void {
  for (const [key, receipt] of receipts) {
    database.run(
      `INSERT OR REPLACE INTO idempotency_keys (scope, key, fingerprint, expires_at, receipt)
       VALUES (?, ?, ?, ?, ?)`,
      use.scope,
      key,
      use.fingerprint,
      use.expiresAt,
      JSON.stringify(receipt),
    );
  }
}

/**
 * Deletes up to `SWEEP_BATCH` keys that have expired, or are the oldest of too many, but for those whose event is
 * unfinished. Gives how many.
 */
export function sweepKeys(database: Database, { now, maxKeys = Infinity }: Retention): number {
  const until = Math.max(now, oldestTooMany(database, maxKeys));
  return database.run(
    `DELETE FROM idempotency_keys WHERE (scope, key) IN
       (SELECT scope, key FROM
         (SELECT * FROM idempotency_keys WHERE expires_at <= ? ORDER BY expires_at LIMIT ${SWEEP_BATCH})
        AS idempotency_keys WHERE NOT ${IS_CARRIED_OUT})`,
    until,
  );
}

/** When the newest of the keys that are too many expires; 0 where there are none. */
function oldestTooMany(database: Database, maxKeys: number): number {
  if (maxKeys === Infinity) return 0;
  const row = database.get(
    "SELECT expires_at FROM idempotency_keys ORDER BY expires_at DESC LIMIT 1 OFFSET ?",
    maxKeys,
  );
  return row ? integer(row.expires_at) : 0;
}

const IS_CARRIED_OUT = `EXISTS (
  SELECT 1 FROM events JOIN event_states USING (seq) WHERE id = idempotency_keys.receipt ->> 'eventId' AND status = 'accepted')`;
