import { type ActionReceipt, MAIN_SESSION } from "../../types.ts";
import { countRuns, isRun, type Known, type KnownKey, type NewRun, planEvent, toReplay } from "../plan.ts";
import type {
  AcceptResult,
  ClaimedRun,
  Idempotency,
  NewAction,
  NewEntry,
  NewEvent,
  RunAnswerer,
  StoredRequest,
} from "../records.ts";
import { text } from "../rows.ts";
import type { Database } from "./database.ts";
import { type Content, insertEntry, MAX_INLINE, sourceOf, toContent } from "./entries.ts";
import type { Transaction } from "./group-commit.ts";
import { type AnsweredRun, countOpen, insertAnswered, insertJoined, insertRun, isBusy } from "./runs.ts";

/*
 * An accept inserts with `OR FAIL`: if a statement fails, the whole transaction is undone. To undo only the statement,
 * SQLite would keep a copy of every page that it is about to change.
 */

export function acceptEvent(transaction: Transaction, event: NewEvent, answerer?: RunAnswerer): AcceptResult {
  const plan = planEvent(event, knownAt(transaction, event.receivedAt));
  if (plan.kind !== "commit") return plan;
  const { actions, receipt, keys } = plan;
  const seq = transaction.counters.nextSeq();
  const source = sourceOf(event.request.body);
  const wake = findInlineWake(event, actions);
  const hasRuns = actions.some(isRun);
  const answered = hasRuns && answerer ? answerRuns(transaction, event, { actions, answerer }) : NONE;
  let open = hasRuns ? countRuns(actions) : 0;
  for (const { outcome } of answered.values()) open += countOpen(outcome) - 1;
  insertEvent(transaction, event, { seq, source, receipts: receipt.actions, open, wake });
  for (const action of actions) {
    if (!isRun(action)) {
      if (action.entry !== wake) insertEntry(transaction, action.entry, { eventSeq: seq, source });
    } else if (action.joins) insertJoined(transaction, seq, action);
    else {
      const answer = answered.get(action.runId);
      if (answer) insertAnswered(transaction, event, answer, { eventSeq: seq, source });
      else insertRun(transaction, event, action, { eventSeq: seq, source });
    }
  }
  transaction.report({ kind: "event", id: event.id });
  if (event.idempotency) rememberKeys(transaction, event.idempotency, keys);
  return { kind: "committed", receipt: { ...receipt, replayed: false } };
}

const NONE: ReadonlyMap<string, AnsweredRun> = new Map();

/** Most runs of an event that are answered: while they are, nothing else happens in this process. */
const MAX_ANSWERED = 64;

/** By run. After the first run that has to wait, later ones may be of its session, so they wait too. */
function answerRuns(
  transaction: Transaction,
  event: NewEvent,
  { actions, answerer }: { actions: NewAction[]; answerer: RunAnswerer },
): ReadonlyMap<string, AnsweredRun> {
  const answered = new Map<string, AnsweredRun>();
  for (const action of actions) {
    if (!isRun(action)) continue;
    if (action.window || action.joins || answered.size === MAX_ANSWERED) break;
    const run = toStarted(event, action);
    const outcome = answerer.answer(run, event.mapping ?? "");
    if (!outcome || isBusy(transaction, run.sessionKey)) break;
    answered.set(run.id, { run, outcome });
    transaction.afterCommit(() => answerer.answered({ ...run, state: "done", usage: outcome.usage }));
  }
  return answered;
}

function toStarted({ id: eventId, hook, receivedAt }: NewEvent, { runId, action }: NewRun): ClaimedRun {
  return {
    id: runId,
    kind: "hook",
    eventId,
    hook,
    sessionKey: action.sessionKey,
    action,
    state: "running",
    attempts: 1,
    token: 1,
    createdAt: receivedAt,
    dueAt: receivedAt,
    startedAt: Date.now(),
    warnings: [],
  };
}

/** The `detail` column: what no condition of a list needs. Empty lists are left out. */
export interface EventDetail extends Pick<
  NewEvent,
  "mapping" | "event" | "reason" | "replayOf" | "credential" | "traceparent" | "took" | "failure"
> {
  request: Omit<StoredRequest, "body">;
  actions?: ActionReceipt[];
  warnings?: NewEvent["warnings"];
  log?: NewEvent["log"];
  /** The system event of a wake that has no row in `entries`. */
  wake?: Content & { urgent: boolean };
}

interface EventParts {
  seq: number;
  source: Uint8Array;
  receipts: ActionReceipt[];
  open: number;
  /** The system event that is stored with the event. */
  wake: NewEntry | undefined;
}

function insertEvent(transaction: Transaction, event: NewEvent, parts: EventParts): void {
  const { seq, source, receipts, open, wake } = parts;
  const { id, hook, mapping, receivedAt, replayOf, credential, traceparent, reason, warnings, log, took, failure } =
    event;
  const { method, path, query, headers, contentType, client, body } = event.request;
  const detail: EventDetail = {
    mapping,
    event: event.event,
    reason,
    replayOf,
    credential,
    traceparent,
    request: { method, path, query, headers, contentType, client },
    actions: unlessEmpty(receipts),
    warnings: unlessEmpty(warnings),
    log: unlessEmpty(log),
    took,
    failure,
    wake: wake && { ...toContent(wake, source), urgent: wake.urgent ?? false },
  };
  // Wakes are done with this commit.
  const status = event.status === "accepted" && open === 0 ? "done" : event.status;
  const inline = body.length <= MAX_INLINE ? body : undefined;
  const values = [seq, id, hook, status, open, wake && 1, receivedAt, JSON.stringify(detail), inline];
  transaction.run(INSERT_EVENT, ...values);
  if (!inline) transaction.run("INSERT OR FAIL INTO bodies (event_seq, body) VALUES (?, ?)", seq, body);
  if (wake) announceWake(transaction, wake);
}

const INSERT_EVENT = `
  INSERT OR FAIL INTO events (seq, id, hook, status, open, lost, pending, received_at, detail, body)
  VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?, ?)`;

function unlessEmpty<Item>(list: Item[]): Item[] | undefined {
  return list.length > 0 ? list : undefined;
}

function announceWake({ announce, report }: Transaction, { urgent }: NewEntry): void {
  if (urgent) announce("heartbeat");
  report({ kind: "session", key: MAIN_SESSION });
}

/** The system event of the first wake, if a few columns of the event's row can say everything about it. */
function findInlineWake(event: NewEvent, [first]: NewAction[]): NewEntry | undefined {
  if (!first || isRun(first)) return undefined;
  const { sessionKey, role, at, eventId, runId, pending } = first.entry;
  const isOwn = eventId === event.id && at === event.receivedAt && runId === undefined;
  const isPlain =
    sessionKey === MAIN_SESSION && role === "system" && pending === true && first.entry.text.length <= MAX_INLINE;
  return isOwn && isPlain ? first.entry : undefined;
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
  receipts: ReadonlyMap<string, KnownKey["receipt"]>,
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
