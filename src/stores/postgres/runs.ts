import type { Claim, TurnOutcome } from "../../core/journal/journal.ts";
import { toErrorGroup } from "../../core/journal/error-group.ts";
import { integer, text } from "../../core/journal/columns.ts";
import { fromOutcome } from "../../core/journal/rows.ts";
import { insertApprovals, locksOf } from "../../core/journal/writes/approval-states.ts";
import { addFailedAttempt } from "../../core/journal/writes/failed-attempts.ts";
import { reportsOfEnd, type RunEnd, toCompletion, stepsOfEnd, toUsed } from "../../core/journal/writes/run-end.ts";
import { recipientLock, sessionLock } from "../../core/journal/writes/writer.ts";
import { addEntries, reportsOfEntries } from "./entries.ts";
import { addSpends, addToCounts } from "./counters.ts";
import { addDeliveries, reportsOfDeliveries } from "./deliveries.ts";
import { toStepRow } from "../../core/journal/writes/step-rows.ts";
import { Batch, lock, reportAll, type Transaction } from "./transaction.ts";
import { createWriter, finish } from "./writer.ts";

/** Ends a run whose reply a person must see first. */
export async function completeAsking(transaction: Transaction, claim: Claim, outcome: TurnOutcome): Promise<boolean> {
  const { questions = [] } = outcome;
  const [isRecorded = false] = await endRuns(transaction, [toCompletion(claim, outcome)], locksOf(questions));
  // At a repetition the earlier attempt has recorded them.
  const isKnown = await transaction.get("SELECT 1 FROM hookline.approvals WHERE id = $1", [questions[0]?.id]);
  if (isRecorded && !isKnown) await finish(insertApprovals(createWriter(transaction), questions));
  return isRecorded;
}

/** Ends runs, and makes the next of their sessions ready. False for each whose claim is lost. */
export async function endRuns(transaction: Transaction, ends: RunEnd[], moreLocks: string[] = []): Promise<boolean[]> {
  const { withBegin, isRepeated } = transaction;
  const ids = ends.map(({ claim }) => claim.id);
  const rows = await withBegin.all("SELECT session_key FROM hookline.runs WHERE id = ANY($1::uuid[])", [ids]);
  const recipients = ends.flatMap(({ deliveries }) => deliveries.map(recipientLock));
  const locks = [...rows.map((row) => sessionLock(text(row.session_key))), ...recipients, ...moreLocks];
  const batch = toBatch(ends, transaction.clockOffsetMs);
  if (ends.some(({ deliveries }) => deliveries.length > 0)) transaction.announce("delivery");
  if (ends.some(({ entries }) => entries.some(({ urgent }) => urgent))) transaction.announce("heartbeat");
  const [, row] = await Promise.all([lock(transaction, locks), batch.run(transaction, ENDED)]);
  const events: Record<string, string | null> = JSON.parse(text(row?.ended));
  if (integer(row?.promoted) > 0) transaction.announce("run");
  for (const { claim, state, finishedAt: at, error = "", warnings } of ends) {
    if (state === "dead" && claim.id in events)
      addFailedAttempt(transaction, "runs", claim.id, { at, error, warnings });
  }
  const results = ends.map(({ claim }) => claim.id in events);
  const reports = ends
    .filter(({ claim }) => claim.id in events)
    .flatMap((end) => [
      ...reportsOfEntries(end.entries),
      ...reportsOfDeliveries(end.deliveries),
      ...reportsOfEnd(end, events[end.claim.id] ?? undefined),
    ]);
  await reportAll(transaction, reports);
  if (isRepeated) await recognize(transaction, ends, results);
  return results;
}

/** The earlier attempt may have ended it. */
async function recognize({ all }: Transaction, ends: RunEnd[], results: boolean[]): Promise<void> {
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

/** Rows of runs that it does not end are left out. The sessions come last: other nodes wait for the main session. */
function toBatch(ends: RunEnd[], clockOffsetMs: number): Batch {
  const batch = new Batch();
  const rows = ends.map(({ claim, state, finishedAt, error, outcome, deliveries: { length } }) => ({
    id: claim.id,
    token: claim.token,
    state,
    finished_at: finishedAt,
    error,
    error_group: error === undefined ? undefined : toErrorGroup(error),
    outcome: outcome && fromOutcome(outcome),
    open: length - 1,
    dead: state === "dead" ? 1 : 0,
  }));
  const columns = `id uuid, token bigint, state text, finished_at bigint, error text, error_group text, outcome text, open integer,
    dead integer`;
  batch.add("run_end", rows, `SELECT *, 'running' AS claimed FROM json_to_recordset($rows) AS row (${columns})`);
  // With the state as a constant, PostgreSQL reads the index of all running runs.
  batch.addOver(
    "ended",
    `UPDATE hookline.runs SET state = row.state, finished_at = row.finished_at, error = row.error,
       error_group = row.error_group, outcome = row.outcome
     FROM run_end AS row WHERE runs.id = ANY(ARRAY(SELECT id FROM run_end)) AND runs.id = row.id AND runs.claims = row.token
       AND runs.state = row.claimed
     RETURNING runs.id, runs.id AS run_id, event_id, hook, mapping, session_key, row.open, row.dead, 0 AS canceled`,
  );
  batch.addOver(
    "promoted",
    `UPDATE hookline.runs SET state = 'ready' WHERE id = ANY(ARRAY(
       SELECT (SELECT id FROM hookline.runs WHERE runs.session_key = ended.session_key
         AND finished_at IS NULL AND runs.id <> ended.id ORDER BY seq LIMIT 1)
       FROM ended)) RETURNING 1`,
  );
  batch.addOver("change", "SELECT * FROM ended WHERE event_id IS NOT NULL AND (open <> 0 OR dead <> 0)");
  batch.addOver("counted", `${addToCounts("change")} RETURNING 1`);
  addSpends(
    batch,
    ends.flatMap(({ claim, outcome }) => (outcome ? [{ claim: claim.id, used: toUsed(outcome) }] : [])),
  );
  const lastSteps = ends.flatMap((end) =>
    stepsOfEnd(end).map((step) => {
      const [run_id, n, state, detail] = toStepRow(end.claim.id, step);
      return { run_id, n, state, detail };
    }),
  );
  batch.add(
    "last_steps",
    lastSteps,
    `INSERT INTO hookline.steps (run_id, n, state, detail)
     SELECT * FROM json_to_recordset($rows) AS row (run_id uuid, n integer, state text, detail text)
     WHERE ${OF_ENDED("run_id")} ON CONFLICT DO NOTHING`,
  );
  const deliveries = ends.flatMap((end) => end.deliveries.map((delivery) => ({ delivery, at: end.finishedAt })));
  addDeliveries(batch, deliveries, clockOffsetMs, OF_ENDED("run_id"));
  const entries = ends.flatMap(({ claim, entries: own }) => own.map((entry) => ({ ...entry, claim: claim.id })));
  addEntries(batch, entries, `${OF_ENDED("claim")} AND (SELECT count(*) FROM counted) >= 0`);
  return batch;
}
