import type { AcceptResult, NewEntry, NewEvent } from "../../core/journal/journal.ts";
import {
  type Commit,
  countRuns,
  findSettled,
  firstStatus,
  isNone,
  isRun,
  type Known,
  MAX_JOINED_MESSAGES,
  type NewRun,
  type OpenRun,
  type Plan,
  planEvent,
  toAccessText,
  toFailed,
} from "../../core/journal/plan.ts";
import { integer, text } from "../../core/journal/columns.ts";
import { fromEvent, toDetail } from "../../core/journal/rows.ts";
import { FAILED_REQUEST } from "../../core/journal/conditions.ts";
import { MAX_CORRECTION_MS } from "../../core/journal/waits.ts";
import { awaitEarlierCommits } from "./changes.ts";
import type { Sql } from "./database.ts";
import { Conflict } from "./errors.ts";
import { readPaused, addState, applyState, type BatchState, listStateKeys, readBatchState } from "./state.ts";
import { type AddedKey, addKeys, type Keys, nameOf, readKeys } from "./idempotency.ts";
import { addPublications } from "./publications.ts";
import { sessionLock, windowLock } from "../../core/journal/writes/writer.ts";
import { Batch, lock, stateLock, type Transaction } from "./transaction.ts";
import { toPostgresText } from "./text.ts";
import { addEntries } from "./entries.ts";
import { senderOf } from "../../core/types.ts";

/** Commits events in their order, or recognizes them as repeats. */
export async function acceptEvents(transaction: Transaction, events: NewEvent[]): Promise<AcceptResult[]> {
  const results = transaction.isRepeated ? await readCommitted(transaction, events) : new Map<string, AcceptResult>();
  const others = events.filter(({ id }) => !results.has(id));
  const runs = others.flatMap(({ actions }) => actions.filter(isRun));
  const windows = runs.flatMap(({ window }) => (window ? [window.key] : []));
  const { withBegin } = transaction;
  const now = Date.now() + transaction.clockOffsetMs;
  const locks = [
    ...runs.map(({ action }) => sessionLock(action.sessionKey)),
    ...windows.map(windowLock),
    ...listStateKeys(others).map(stateLock),
  ];
  const [, stored, openRuns, state] = await Promise.all([
    lock(withBegin, locks),
    readKeys(withBegin, others),
    readOpenRuns(withBegin, windows),
    readBatchState(withBegin, others, now),
  ]);
  const known: State = { keys: new Map(stored), openRuns, clockOffsetMs: transaction.clockOffsetMs };
  const plans = others.map((event) => {
    const plan = decide(event, knownAt(event.receivedAt, known), state);
    remember(event, plan, known);
    return { event, plan };
  });
  const added = plans.flatMap(({ event, plan }) => listKeys(event, plan));
  const commits = plans.flatMap(({ event, plan }) => (plan.kind === "commit" ? [{ event, plan }] : []));
  if (commits.length > 0 || added.length > 0) await write(transaction, commits, { added, stored, state, now });
  else awaitEarlierCommits(transaction, transaction.node);
  for (const { event, plan } of plans) results.set(event.id, toResult(plan));
  return events.map(({ id }) => results.get(id)!);
}

/** The plan for an event, unless its state has changed since it was mapped. */
type Decision = Plan | Extract<AcceptResult, { kind: "state-changed" | "state-full" }>;

function decide(event: NewEvent, known: Known, state: BatchState): Decision {
  const plan = planEvent(event, known);
  if (plan.kind !== "commit" || !event.state) return plan;
  return applyState(event, event.state, state) ?? plan;
}

function toResult(plan: Decision): AcceptResult {
  if (plan.kind === "commit") return { kind: "committed", receipt: { ...plan.receipt, replayed: false } };
  return plan.kind === "replayed" ? { kind: plan.kind, receipt: plan.receipt } : plan;
}

/** Events that an earlier attempt committed, although its answer was lost. */
async function readCommitted({ all }: Sql, events: NewEvent[]): Promise<Map<string, AcceptResult>> {
  const rows = await all("SELECT id, detail FROM hookline.events WHERE id = ANY($1::uuid[])", [
    events.map(({ id }) => id),
  ]);
  const warnings = new Map(events.map((event) => [event.id, event.warnings]));
  return new Map(
    rows.map((row) => {
      const eventId = text(row.id);
      const { actions } = toDetail(row);
      const receipt = { eventId, actions, warnings: warnings.get(eventId) ?? [], replayed: false };
      return [eventId, { kind: "committed", receipt }];
    }),
  );
}

/* Knowledge at the beginning, to which each event of the batch adds. */

interface State {
  keys: Keys;
  openRuns: Map<string, OpenRun & { openedAt: number; closesAt: number }>;
  clockOffsetMs: number;
}

function knownAt(now: number, { keys, openRuns, clockOffsetMs }: State): Known {
  return {
    findKey(scope, key) {
      const known = keys.get(nameOf(scope, key));
      return known && (known.expiresAt > now || known.isUnfinished) ? known : undefined;
    },
    findOpenRun(windowKey) {
      const open = openRuns.get(toPostgresText(windowKey));
      const at = now + clockOffsetMs;
      return open && open.closesAt > at && open.openedAt <= at + MAX_CORRECTION_MS ? open : undefined;
    },
  };
}

function remember(event: NewEvent, plan: Decision, state: State): void {
  for (const { scope, key, use } of listKeys(event, plan)) {
    const isUnfinished = plan.kind !== "commit" || countRuns(plan.actions) > 0;
    state.keys.set(nameOf(scope, key), { ...use, isUnfinished });
  }
  if (plan.kind !== "commit") return;
  for (const { runId, action, window, joins } of plan.actions.filter(isRun)) {
    if (!window || joins) continue;
    state.openRuns.set(toPostgresText(window.key), {
      runId,
      sessionKey: action.sessionKey,
      openedAt: event.receivedAt + state.clockOffsetMs,
      closesAt: window.closesAt + state.clockOffsetMs,
    });
  }
}

function listKeys({ idempotency }: NewEvent, plan: Decision): AddedKey[] {
  if (!idempotency || !("keys" in plan)) return [];
  return Array.from(plan.keys, ([key, use]) => ({ scope: idempotency.scope, key, use }));
}

/** Locks the runs: until the commit they are not claimed. */
async function readOpenRuns({ all }: Sql, windows: string[]): Promise<State["openRuns"]> {
  if (windows.length === 0) return new Map();
  const rows = await all(
    `SELECT id, session_key, coalesce_key, due_at, not_before FROM hookline.runs WHERE coalesce_key = ANY($1::text[])
     ORDER BY seq FOR UPDATE`,
    [windows],
  );
  return new Map(
    rows.map((row) => [
      text(row.coalesce_key),
      {
        runId: text(row.id),
        sessionKey: text(row.session_key),
        openedAt: integer(row.due_at),
        closesAt: integer(row.not_before),
      },
    ]),
  );
}

interface Accepted {
  event: NewEvent;
  plan: Commit;
}

async function write(
  transaction: Transaction,
  commits: Accepted[],
  { added, stored, state, now }: { added: AddedKey[]; stored: Keys; state: BatchState; now: number },
): Promise<void> {
  const runs = commits.flatMap(({ event, plan }) =>
    plan.actions.flatMap((action) => (isRun(action) && !action.joins ? [{ event, ...action }] : [])),
  );
  const entries = await listEntries(transaction, commits);
  const publications = commits.flatMap(({ plan }) => plan.actions.flatMap(({ publication }) => publication ?? []));
  await closeWindows(transaction, runs);
  const batch = new Batch();
  addEvents(batch, commits);
  addRuns(batch, runs, transaction.clockOffsetMs);
  addJoined(batch, commits);
  addEntries(batch, entries);
  addPublications(batch, publications);
  addState(batch, state, now);
  const keys = await addKeys(transaction, batch, added, stored);
  if (keys === 0) batch.runWithCommit(transaction, "1");
  else {
    const row = await batch.run(transaction, "(SELECT count(*) FROM new_keys) AS keys");
    // Another node was first; it has committed by now.
    if (integer(row?.keys) < keys) throw new Conflict("an idempotency key was used at the same moment");
  }
  for (const { event, plan } of commits) reportEvent(transaction, event, plan);
  if (runs.length > 0) transaction.announce("run");
  if (entries.some(({ urgent }) => urgent)) transaction.announce("heartbeat");
  if (publications.length > 0) transaction.announce("publication");
}

/** The wake of a paused mapping is noted, and starts no heartbeat. */
async function listEntries(transaction: Transaction, commits: Accepted[]): Promise<NewEntry[]> {
  const entries = commits.flatMap(({ event: { mapping }, plan }) =>
    plan.actions.flatMap((action) => (isRun(action) || isNone(action) ? [] : [{ mapping, entry: action.entry }])),
  );
  const urgent = entries.filter(({ entry }) => entry.urgent);
  const paused = await readPaused(
    transaction,
    urgent.map(({ mapping }) => mapping),
  );
  return entries.map(({ mapping = "", entry }) => (paused.has(mapping) ? { ...entry, urgent: false } : entry));
}

function reportEvent({ report }: Transaction, event: NewEvent, { actions }: Commit): void {
  const { id } = event;
  const settled = findSettled(event);
  if (settled !== undefined) report({ kind: "event", id: settled });
  for (const action of actions) {
    if (!isRun(action) && !isNone(action)) report({ kind: "session", key: action.entry.sessionKey });
  }
  report({ kind: "event", id });
}

function addEvents(batch: Batch, commits: Accepted[]): void {
  const events = commits.map(({ event, plan }) => ({ id: event.id, detail: fromEvent(event, plan) }));
  batch.add(
    "new_events",
    events,
    `INSERT INTO hookline.events (id, detail)
     SELECT * FROM json_to_recordset($rows) AS row (id uuid, detail text)`,
  );
  const states = commits.map(({ event, plan: { actions } }) => {
    const { id, hook, receivedAt } = event;
    const open = countRuns(actions);
    const { dead, failureGroup: failure_group } = toFailed(event);
    return { id, hook, status: firstStatus(event, open), received_at: receivedAt, open, dead, failure_group };
  });
  batch.add(
    "new_states",
    states,
    `INSERT INTO hookline.event_states (id, hook, status, received_at, open, dead, failure_group)
     SELECT * FROM json_to_recordset($rows) AS row (id uuid, hook text, status text, received_at bigint, open integer,
       dead integer, failure_group text)`,
  );
  const replays = commits.flatMap(({ event }) => ({ id: event.id, settled: findSettled(event) }));
  batch.add(
    "settled",
    replays.filter(({ settled }) => settled !== undefined),
    `UPDATE hookline.event_states AS state SET dead = 0, replay_id = row.id
     FROM json_to_recordset($rows) AS row (id uuid, settled uuid) WHERE state.id = row.settled AND ${FAILED_REQUEST}`,
  );
  const bodies = commits.filter(({ event }) => event.request.body.length > 0).map(({ event }) => event);
  let end = 1;
  const places = bodies.map(({ id, request }) => {
    const at = end;
    end += request.body.length;
    return { id, at, length: request.body.length };
  });
  batch.add(
    "new_bodies",
    places,
    `INSERT INTO hookline.bodies (event_id, body)
     SELECT id, substring($extra FROM at FOR length)
     FROM json_to_recordset($rows) AS row (id uuid, at integer, length integer)`,
    Buffer.concat(bodies.map(({ request }) => request.body)),
  );
}

/** A run whose window has closed may still be queued. */
async function closeWindows({ run }: Sql, runs: NewRun[]): Promise<void> {
  const opened = runs.flatMap(({ window }) => (window ? [window.key] : []));
  if (opened.length === 0) return;
  await run("UPDATE hookline.runs SET coalesce_key = NULL WHERE coalesce_key = ANY($1::text[])", [opened]);
}

/** The oldest of a session's unfinished runs is ready or running, the others are queued: a claim never looks at them. */
function addRuns(batch: Batch, runs: (NewRun & { event: NewEvent })[], clockOffsetMs: number): void {
  const sessions = new Set<string>();
  const latest = new Map(runs.map(({ runId, window }) => [window?.key, runId]));
  const rows = runs.map(({ event, runId, action, window }, ord) => {
    const isFirst = !sessions.has(action.sessionKey);
    sessions.add(action.sessionKey);
    return {
      ord,
      id: runId,
      event_id: event.id,
      hook: event.hook,
      mapping: event.mapping ?? "",
      session_key: action.sessionKey,
      sender: senderOf(event.credential),
      // A window that opened and closed within the batch.
      coalesce_key: window && latest.get(window.key) === runId ? window.key : undefined,
      is_first: isFirst,
      created_at: event.receivedAt,
      due_at: event.receivedAt + clockOffsetMs,
      not_before: window && window.closesAt + clockOffsetMs,
      action: JSON.stringify(action),
    };
  });
  // With LIMIT, each row is one look into the index. NOT EXISTS becomes a hash table of all unfinished runs.
  batch.add(
    "new_runs",
    rows,
    `INSERT INTO hookline.runs (id, kind, event_id, hook, mapping, session_key, sender, coalesce_key, state, attempts,
       created_at, due_at, not_before, action)
     SELECT id, 'hook', event_id, hook, mapping, session_key, sender, coalesce_key,
       CASE WHEN is_first AND (SELECT 1 FROM hookline.runs AS other WHERE other.session_key = row.session_key
         AND other.finished_at IS NULL LIMIT 1) IS NULL THEN 'ready' ELSE 'queued' END,
       0, created_at, due_at, not_before, action
     FROM json_to_recordset($rows) AS row (ord integer, id uuid, event_id uuid, hook text, mapping text,
       session_key text, sender text, coalesce_key text, is_first boolean, created_at bigint, due_at bigint, not_before bigint, action text)
     ORDER BY ord`,
  );
}

function addJoined(batch: Batch, commits: Accepted[]): void {
  const rows = commits
    .flatMap(({ event, plan }) =>
      plan.actions.flatMap((action) => (isRun(action) && action.joins ? [{ event, action }] : [])),
    )
    .map(({ event, action: { runId, action } }, ord) => ({
      ord,
      run_id: runId,
      event_id: event.id,
      message: JSON.stringify(action.message),
      access: toAccessText(action),
    }));
  batch.add(
    "new_joined",
    rows,
    `INSERT INTO hookline.joined_events (run_id, place, event_id, message, access)
     SELECT run_id, place, event_id, CASE WHEN place <= ${MAX_JOINED_MESSAGES} THEN message END, access FROM (
       SELECT *, row_number() OVER (PARTITION BY run_id ORDER BY ord)
         + (SELECT coalesce(max(place), 0) FROM hookline.joined_events AS old WHERE old.run_id = row.run_id) AS place
       FROM json_to_recordset($rows) AS row (ord integer, run_id uuid, event_id uuid, message text, access text)) AS placed`,
  );
}
