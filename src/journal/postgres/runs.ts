import { MAIN_SESSION, RUN_STATES } from "../../types.ts";
import type { Claim, Lease, NewDelivery, NewEntry, Run, TurnOutcome } from "../journal.ts";
import { integer, oneOf, optional, type Row, text } from "../rows.ts";
import { addEntries, MAX_JOINED_MESSAGES } from "./accept.ts";
import { addSpend, addToCounts, updateEventCounts } from "./counters.ts";
import type { Sql } from "./database.ts";
import { addDeliveries } from "./deliveries.ts";
import { isLeaseHeld } from "./leases.ts";
import {
  Batch,
  lock,
  recipientLock,
  type Report,
  reportAll,
  sessionLock,
  toPostgresText,
  type Transaction,
} from "./transaction.ts";

/** The end of a claimed run, with everything that it produced. */
export interface RunEnd {
  claim: Claim;
  state: "done" | "dead";
  finishedAt: number;
  error?: string;
  outcome?: TurnOutcome;
  entries: NewEntry[];
  deliveries: NewDelivery[];
}

export function toCompletion(claim: Claim, outcome: TurnOutcome): RunEnd {
  const { finishedAt, entries, deliveries } = outcome;
  return { claim, state: "done", finishedAt, outcome, entries, deliveries };
}

/** Ends runs, and makes the next of their sessions ready. False for each whose claim is lost. */
export async function endRuns(transaction: Transaction, ends: RunEnd[]): Promise<boolean[]> {
  const { withBegin, withCommit, isRepeated } = transaction;
  const ids = ends.map(({ claim }) => claim.id);
  const rows = await withBegin.all("SELECT session_key FROM hookline.runs WHERE id = ANY($1::uuid[])", [ids]);
  const recipients = ends.flatMap(({ deliveries }) => deliveries.map(recipientLock));
  const locks = [...rows.map((row) => sessionLock(text(row.session_key))), ...recipients];
  const batch = toBatch(ends, transaction.ahead);
  if (ends.some(({ deliveries }) => deliveries.length > 0)) transaction.announce("delivery");
  if (ends.some(({ entries }) => entries.some(({ urgent }) => urgent))) transaction.announce("heartbeat");
  const results = ends.map(() => false);
  if (!isRepeated && !(await transaction.isWatched())) {
    await lock({ run: async (sql, values) => (withCommit(sql, values), 0) }, locks);
    batch.runWithCommit(transaction, ENDED, (row) => void read(row));
    return results;
  }
  const ended = await Promise.all([lock(transaction, locks), batch.run(transaction, ENDED)]).then(([, row]) =>
    read(row),
  );
  await reportAll(
    transaction,
    ends.filter(({ claim }) => ended.has(claim.id)).flatMap((end) => reportsOf(end, ended.get(end.claim.id))),
  );
  if (isRepeated) await recognise(transaction, ends, results);
  return results;

  function read(row: Row | undefined): Map<string, string | undefined> {
    const events: Record<string, string | null> = JSON.parse(text(row?.ended));
    for (const [index, { claim }] of ends.entries()) results[index] = claim.id in events;
    if (integer(row?.promoted) > 0) transaction.announce("run");
    return new Map(Object.entries(events).map(([id, eventId]) => [id, eventId ?? undefined]));
  }
}

/** The earlier attempt may have ended it. */
async function recognise({ all }: Transaction, ends: RunEnd[], results: boolean[]): Promise<void> {
  const ids = ends.map(({ claim }) => claim.id);
  const rows = await all("SELECT id, claims, state FROM hookline.runs WHERE id = ANY($1::uuid[])", [ids]);
  const runs = new Map(rows.map((row) => [text(row.id), row]));
  for (const [index, { claim, state }] of ends.entries()) {
    const run = runs.get(claim.id);
    results[index] ||= run?.claims === claim.token && run.state === state;
  }
}

const ENDED = `(SELECT count(*) FROM promoted) AS promoted,
  (SELECT coalesce(json_object_agg(id, event_id), '{}')::text FROM ended) AS ended`;

const OF_ENDED = (column: string): string => `${column} = ANY(ARRAY(SELECT id FROM ended))`;

/** What does not belong to a run that it ends is left out. The sessions come last: other nodes wait for the main session. */
function toBatch(ends: RunEnd[], ahead: number): Batch {
  const batch = new Batch();
  const rows = ends.map(({ claim, state, finishedAt, error, outcome, deliveries: { length } }) => ({
    id: claim.id,
    token: claim.token,
    state,
    finished_at: finishedAt,
    error,
    outcome: outcome && toOutcomeText(outcome),
    open: length - 1,
    lost: state === "dead" ? 1 : 0,
  }));
  const columns = `id uuid, token bigint, state text, finished_at bigint, error text, outcome text, open integer, lost integer`;
  batch.add("run_end", rows, `SELECT *, 'running' AS claimed FROM json_to_recordset($rows) AS row (${columns})`);
  // With the state as a constant, PostgreSQL reads the index of all running runs.
  batch.addOver(
    "ended",
    `UPDATE hookline.runs SET state = row.state, finished_at = row.finished_at, error = row.error, outcome = row.outcome
     FROM run_end AS row WHERE runs.id = ANY(ARRAY(SELECT id FROM run_end)) AND runs.id = row.id AND runs.claims = row.token
       AND runs.state = row.claimed
     RETURNING runs.id, runs.id AS run_id, event_id, hook, mapping, session_key, row.open, row.lost`,
  );
  batch.addOver(
    "promoted",
    `UPDATE hookline.runs SET state = 'ready' WHERE id = ANY(ARRAY(
       SELECT (SELECT id FROM hookline.runs WHERE runs.session_key = ended.session_key
         AND finished_at IS NULL AND runs.id <> ended.id ORDER BY seq LIMIT 1)
       FROM ended)) RETURNING 1`,
  );
  batch.addOver("change", "SELECT * FROM ended WHERE event_id IS NOT NULL AND (open <> 0 OR lost <> 0)");
  batch.addOver("counted", `${addToCounts("change")} RETURNING 1`);
  addSpend(
    batch,
    ends.flatMap(({ claim, outcome }) => (outcome ? [{ claim: claim.id, outcome }] : [])),
    "ended",
  );
  const deliveries = ends.flatMap((end) => end.deliveries.map((delivery) => ({ delivery, at: end.finishedAt })));
  addDeliveries(batch, deliveries, ahead, OF_ENDED("run_id"));
  const entries = ends.flatMap(({ claim, entries: own }) => own.map((entry) => ({ ...entry, claim: claim.id })));
  addEntries(batch, entries, `${OF_ENDED("claim")} AND (SELECT count(*) FROM counted) >= 0`);
  return batch;
}

function reportsOf({ claim: { id }, state, entries, deliveries }: RunEnd, eventId: string | undefined): Report[] {
  const run = { id, eventId };
  const ended: Report[] = [{ change: { kind: "run", id, eventId, state }, run }];
  if (state === "dead") ended.push({ change: { kind: "dead-letter", id, eventId, isDead: true }, run });
  return [...reportsOfEntries(entries), ...reportsOfDeliveries(deliveries), ...ended];
}

function reportsOfEntries(entries: NewEntry[]): Report[] {
  return entries.map(({ sessionKey }) => ({ change: { kind: "session", key: sessionKey } }));
}

function reportsOfDeliveries(deliveries: NewDelivery[]): Report[] {
  return deliveries.map(({ id, runId, eventId }) => ({
    change: { kind: "delivery", id, eventId, state: "pending" },
    run: { id: runId, eventId },
  }));
}

export async function retryRun(transaction: Transaction, claim: Claim, dueAt: number, error: string): Promise<boolean> {
  transaction.announce("run");
  const set = "due_at = $3, error = $4";
  return leaveRun(transaction, claim, { state: "ready", set }, [
    Math.ceil(dueAt) + transaction.ahead,
    toPostgresText(error),
  ]);
}

export async function releaseRun(transaction: Transaction, claim: Claim): Promise<boolean> {
  transaction.announce("run");
  return leaveRun(transaction, claim, { state: "ready", set: "attempts = attempts - 1" }, []);
}

export async function holdRun(transaction: Transaction, claim: Claim, reason: string): Promise<boolean> {
  const set = "hold_reason = $3, attempts = attempts - 1";
  return leaveRun(transaction, claim, { state: "held", set }, [toPostgresText(reason)]);
}

/** Changes a run that stays the first of its session. */
async function leaveRun(
  transaction: Transaction,
  { id, token }: Claim,
  { state, set }: { state: "ready" | "held"; set: string },
  values: (string | number)[],
): Promise<boolean> {
  const { get, isRepeated } = transaction;
  const row = await get(
    `UPDATE hookline.runs SET state = '${state}', ${set} WHERE id = $1 AND claims = $2 AND state = 'running' RETURNING event_id`,
    [id, token, ...values],
  );
  if (row) {
    const eventId = optional(text, row.event_id);
    await reportAll(transaction, [{ change: { kind: "run", id, eventId, state }, run: { id, eventId } }]);
    return true;
  }
  // The earlier attempt: nobody has claimed it since.
  const since = "SELECT 1 FROM hookline.runs WHERE id = $1 AND claims = $2 AND state IN ('ready', 'held')";
  return isRepeated && (await get(since, [id, token])) !== undefined;
}

/** Each is the first of its session, and was due when it was claimed. */
export async function releaseHeld(
  transaction: Transaction,
  { reason, forGood = false }: { reason?: string; forGood?: boolean } = {},
): Promise<number> {
  const rows = await transaction.all(
    `UPDATE hookline.runs SET state = 'ready', hold_reason = CASE WHEN $2 THEN hold_reason END
     WHERE state = 'held' AND ($1::text IS NULL OR hold_reason = $1) RETURNING id, event_id`,
    [reason === undefined ? null : toPostgresText(reason), forGood],
  );
  if (rows.length > 0) transaction.announce("run");
  const released = rows.map((row) => ({ id: text(row.id), eventId: optional(text, row.event_id) }));
  await reportAll(
    transaction,
    released.map((run) => ({ change: { kind: "run", ...run, state: "ready" }, run })),
  );
  return rows.length;
}

/* A heartbeat is never queued: its run is recorded when it has ended. Recording it again changes nothing. */

export async function completeHeartbeat(
  transaction: Transaction,
  { id, startedAt, consumedSeqs, lease }: { id: string; startedAt: number; consumedSeqs: number[]; lease: Lease },
  outcome: TurnOutcome,
): Promise<boolean> {
  await lock(transaction, outcome.deliveries.map(recipientLock));
  if (!(await isLeaseHeld(transaction, lease))) return false;
  const end = {
    id,
    startedAt,
    state: "done",
    finishedAt: outcome.finishedAt,
    outcome: toOutcomeText(outcome),
  } as const;
  // At a repetition the earlier attempt has recorded all of it.
  if (!(await insertHeartbeat(transaction, end))) return transaction.isRepeated;
  const batch = new Batch();
  addSpend(batch, [{ outcome }]);
  addEntries(batch, outcome.entries);
  const deliveries = outcome.deliveries.map((delivery) => ({ delivery, at: outcome.finishedAt }));
  addDeliveries(batch, deliveries, transaction.ahead);
  await batch.run(transaction, "1");
  const changes = outcome.deliveries.map(({ eventId, runId }) => ({
    event_id: eventId,
    run_id: runId,
    open: 1,
    lost: 0,
  }));
  for (const change of changes) updateEventCounts(transaction, [change]);
  await transaction.run("UPDATE hookline.entries SET pending = 0 WHERE seq = ANY($1::bigint[]) AND pending = 1", [
    consumedSeqs,
  ]);
  await reportAll(transaction, [...reportsOfEntries(outcome.entries), ...reportsOfDeliveries(outcome.deliveries)]);
  if (deliveries.length > 0) transaction.announce("delivery");
  return true;
}

export async function failHeartbeat(
  transaction: Transaction,
  run: { id: string; startedAt: number; finishedAt: number; error: string },
): Promise<void> {
  await insertHeartbeat(transaction, { ...run, state: "dead" });
}

interface HeartbeatEnd {
  id: string;
  startedAt: number;
  finishedAt: number;
  state: "done" | "dead";
  error?: string;
  outcome?: string;
}

/** False if the heartbeat was recorded before. */
async function insertHeartbeat({ run, report }: Transaction, end: HeartbeatEnd): Promise<boolean> {
  const { id, state, startedAt, finishedAt, error, outcome } = end;
  const values = [id, state, startedAt, finishedAt, error && toPostgresText(error), outcome && toPostgresText(outcome)];
  const isNew = (await run(INSERT_HEARTBEAT, values)) > 0;
  if (isNew) report({ kind: "run", id, state });
  return isNew;
}

const INSERT_HEARTBEAT = `
  INSERT INTO hookline.runs (id, kind, session_key, state, attempts, created_at, due_at, started_at, finished_at, error, outcome)
  VALUES ($1, 'heartbeat', '${MAIN_SESSION}', $2, 1, $3, $3, $3, $4, $5, $6) ON CONFLICT DO NOTHING`;

/** With the messages that joined them. */
export async function withJoined(sql: Sql, runs: Run[]): Promise<Run[]> {
  const ids = runs.filter(({ action }) => action?.coalesce).map(({ id }) => id);
  if (ids.length === 0) return runs;
  const rows = await sql.all(SELECT_JOINED, [ids]);
  const joined = new Map(rows.map((row) => [text(row.run_id), toJoined(row)]));
  return runs.map((run) => ({ ...run, joined: joined.get(run.id) }));
}

const SELECT_JOINED = `
  SELECT run_id, max(place) AS count,
    json_agg(message ORDER BY place) FILTER (WHERE place <= ${MAX_JOINED_MESSAGES})::text AS messages
  FROM hookline.joined_events WHERE run_id = ANY($1::uuid[]) GROUP BY run_id`;

function toJoined(row: Row): NonNullable<Run["joined"]> {
  const stored: string[] = JSON.parse(text(row.messages));
  const messages = stored.map((message): string => JSON.parse(message));
  return { messages, leftOut: integer(row.count) - messages.length };
}

/** The `outcome` column: what is only read whole. */
type Outcome = Pick<Run, "reply" | "model" | "usage" | "cost" | "warnings">;

function toOutcomeText({ reply, model, usage, cost, warnings }: TurnOutcome): string {
  return JSON.stringify({ reply, model, usage, cost, warnings } satisfies Outcome);
}

/** With its times by the clock of this process. */
export function toRunHere(row: Row, ahead: number): Run {
  const kind = oneOf(["hook", "heartbeat"], row.kind);
  const outcome: Outcome = row.outcome === null ? { warnings: [] } : JSON.parse(text(row.outcome));
  return {
    id: text(row.id),
    kind,
    eventId: optional(text, row.event_id),
    hook: optional(text, row.hook),
    sessionKey: text(row.session_key),
    action: row.action === null ? undefined : JSON.parse(text(row.action)),
    state: oneOf(RUN_STATES, row.state),
    attempts: integer(row.attempts),
    createdAt: integer(row.created_at),
    dueAt: integer(row.due_at) - (kind === "hook" ? ahead : 0),
    startedAt: optional(integer, row.started_at),
    finishedAt: optional(integer, row.finished_at),
    holdReason: row.state === "held" ? optional(text, row.hold_reason) : undefined,
    error: optional(text, row.error),
    ...outcome,
  };
}
