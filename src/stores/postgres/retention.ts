import { firstIdAt } from "../../core/shared/id.ts";
import type { Retention } from "../../core/journal/journal.ts";
import { integer, text } from "../../core/journal/columns.ts";
import { toDetail } from "../../core/journal/rows.ts";
import type { Sql } from "./database.ts";
import { FINISHED_STATUSES, sweepSharedTables } from "../../core/journal/writes/retention.ts";
import { MIGRATION_LOCK } from "./schema.ts";
import { type Transaction } from "./transaction.ts";
import { toJson } from "./text.ts";
import { createWriter, finish } from "./writer.ts";

/** Most rows of a kind that one commit deletes: it holds locks on sessions. */
const BATCH = 500;

/**
 * An event disappears from every list with its state, and everything that belongs to it is deleted. The bytes of the
 * request stay on disk until the partition of their month holds nothing else, and is dropped.
 */
export async function sweep(transaction: Transaction, retention: Retention): Promise<boolean> {
  const { keepFrom } = retention;
  const equal = sweepSharedTables(createWriter(transaction), retention, { limit: BATCH, publishedBefore: keepFrom });
  const deleted =
    (await finish(equal)) + (await sweepEvents(transaction, keepFrom)) + (await sweepLoose(transaction, keepFrom));
  if (deleted > 0) return true;
  await addPartitions(transaction, Date.now());
  await dropPartitions(transaction, keepFrom);
  return false;
}

/** Each status from its own range of the index, so that a backlog of unfinished events is not scanned. */
const OLDEST_FINISHED = FINISHED_STATUSES.map(
  (status) =>
    `(SELECT id, received_at FROM hookline.event_states WHERE status = '${status}' ORDER BY id LIMIT ${BATCH})`,
).join(" UNION ALL ");

async function sweepEvents(sql: Sql, keepFrom: number): Promise<number> {
  const rows = await sql.all(
    `SELECT id, detail FROM (SELECT * FROM (${OLDEST_FINISHED}) AS finished WHERE received_at < $1 ORDER BY id LIMIT ${BATCH})
       AS oldest JOIN hookline.events USING (id)`,
    [keepFrom],
  );
  if (rows.length === 0) return 0;
  const ids = rows.map((row) => text(row.id));
  // A receipt can also name a run of an earlier event with the same idempotency key.
  const runs = rows.flatMap((row) => toDetail(row).actions.flatMap(({ runId }) => runId ?? []));
  await sql.run(
    `WITH removed AS (DELETE FROM hookline.runs WHERE id = ANY($1::uuid[]) AND event_id = ANY($2::uuid[]) RETURNING id),
     removed_attempts AS (DELETE FROM hookline.failed_attempts WHERE work_id IN (SELECT id FROM removed)),
     removed_steps AS (DELETE FROM hookline.steps WHERE run_id IN (SELECT id FROM removed)),
     removed_approvals AS (DELETE FROM hookline.approvals WHERE run_id IN (SELECT id FROM removed))
     DELETE FROM hookline.joined_events WHERE run_id IN (SELECT id FROM removed)`,
    [runs, ids],
  );
  await deleteDeliveries(sql, "event_id = ANY($1::uuid[])", ids);
  // Pending system events outlive their event.
  await sql.run("UPDATE hookline.entries SET event_id = NULL WHERE event_id = ANY($1::uuid[]) AND pending = 1", [ids]);
  await deleteEntries(sql, "event_id = ANY($1::uuid[])", ids);
  await sql.run("DELETE FROM hookline.answers WHERE event_id = ANY($1::uuid[])", [ids]);
  await sql.run("DELETE FROM hookline.event_states WHERE id = ANY($1::uuid[])", [ids]);
  // These came before there was a partition for them.
  await sql.run("DELETE FROM hookline.events_other WHERE id = ANY($1::uuid[])", [ids]);
  await sql.run("DELETE FROM hookline.bodies_other WHERE event_id = ANY($1::uuid[])", [ids]);
  return ids.length;
}

/** Deletes rows of no event: heartbeats with their entries and deliveries, and system events of deleted events. */
async function sweepLoose(sql: Sql, keepFrom: number): Promise<number> {
  const entries = await deleteEntries(
    sql,
    `(session_key, seq) IN (SELECT session_key, seq FROM hookline.entries WHERE event_id IS NULL AND pending = 0 AND at < $1 ORDER BY at LIMIT ${BATCH})`,
    keepFrom,
  );
  const runs = await sql.run(`DELETE FROM hookline.runs WHERE ${isLoose("runs")}`, [keepFrom]);
  return entries + runs + (await deleteDeliveries(sql, isLoose("deliveries"), keepFrom));
}

const isLoose = (table: string): string => `id IN (SELECT id FROM hookline.${table}
  WHERE event_id IS NULL AND finished_at < $1 ORDER BY finished_at LIMIT ${BATCH})`;

/** With their failed attempts. Gives how many. */
async function deleteDeliveries({ get }: Sql, condition: string, value: number | string[]): Promise<number> {
  const row = await get(
    `WITH removed AS (DELETE FROM hookline.deliveries WHERE ${condition} RETURNING id),
     removed_attempts AS (DELETE FROM hookline.failed_attempts WHERE work_id IN (SELECT id FROM removed))
     SELECT count(*) AS count FROM removed`,
    [value],
  );
  return integer(row?.count);
}

/** Deletes the entries that meet the condition and are not pending, and sessions that become empty. Gives the number of entries. */
async function deleteEntries({ all, run }: Sql, condition: string, value: number | string[]): Promise<number> {
  const rows = await all(
    `WITH removed AS (DELETE FROM hookline.entries WHERE ${condition} AND pending = 0 RETURNING session_key)
     SELECT session_key AS key, count(*) AS entries FROM removed GROUP BY session_key ORDER BY session_key`,
    [value],
  );
  if (rows.length === 0) return 0;
  // Sorted, so that two transactions cannot wait for each other in a circle.
  await run(
    `WITH removed AS (SELECT * FROM json_to_recordset($1::json) AS row (key text, entries integer)),
       locked AS (SELECT key FROM hookline.sessions WHERE key IN (SELECT key FROM removed) ORDER BY key FOR UPDATE)
     UPDATE hookline.sessions AS session SET entries = session.entries - removed.entries
     FROM removed JOIN locked USING (key) WHERE session.key = removed.key`,
    [toJson(rows)],
  );
  await run(
    `WITH ended AS (DELETE FROM hookline.sessions WHERE entries = 0 AND key = ANY($1::text[]) RETURNING key)
     UPDATE hookline.sent_messages SET session_key = NULL WHERE session_key IN (SELECT key FROM ended)`,
    [rows.map(({ key }) => text(key))],
  );
  return rows.reduce((sum, row) => sum + integer(row.entries), 0);
}

/* The partitions of events and bodies. */

const PARTITIONED = ["events", "bodies"] as const;
const MONTHS_AHEAD = 2;

/** Creates the partitions of this month and the next ones, unless they are there; and those since an earlier time. */
export async function addPartitions(sql: Sql, now: number, since = now): Promise<void> {
  await sql.run("SELECT pg_advisory_xact_lock($1)", [MIGRATION_LOCK]);
  const [first, last] = [new Date(since), new Date(now)];
  const before = 12 * (last.getUTCFullYear() - first.getUTCFullYear()) + last.getUTCMonth() - first.getUTCMonth();
  for (let month = -before; month <= MONTHS_AHEAD; month++) {
    const [from, to] = [month, month + 1].map((months) => Date.UTC(last.getUTCFullYear(), last.getUTCMonth() + months));
    const suffix = new Date(from!).toISOString().slice(0, 7).replace("-", "_");
    const bounds = [firstIdAt(from!), firstIdAt(to!)];
    // Events that came before their partition stay where they are.
    const isLate = await sql.get("SELECT 1 FROM hookline.events_other WHERE id >= $1 AND id < $2 LIMIT 1", bounds);
    if (isLate || (await isTable(sql, `events_${suffix}`))) continue;
    for (const table of PARTITIONED) {
      await sql.run(`CREATE TABLE hookline.${table}_${suffix} PARTITION OF hookline.${table}
        FOR VALUES FROM ('${bounds[0]}') TO ('${bounds[1]}')`);
    }
  }
}

/** Drops the partitions whose events are all older, once none of them is left in `event_states`. Gives how many. */
async function dropPartitions(sql: Sql, keepFrom: number): Promise<number> {
  const rows = await sql.all(
    `SELECT right(inhrelid::regclass::text, 7) AS suffix FROM pg_inherits
     WHERE inhparent = 'hookline.events'::regclass ORDER BY 1`,
  );
  let dropped = 0;
  for (const { suffix } of rows) {
    const month = /^(\d{4})_(\d{2})$/.exec(String(suffix));
    if (!month) continue;
    const [from, to] = [0, 1].map((months) => Date.UTC(Number(month[1]), Number(month[2]) - 1 + months));
    if (to! > keepFrom) continue;
    const left = await sql.get("SELECT 1 FROM hookline.event_states WHERE id >= $1 AND id < $2 LIMIT 1", [
      firstIdAt(from!),
      firstIdAt(to!),
    ]);
    if (left) continue;
    for (const table of PARTITIONED) await sql.run(`DROP TABLE hookline.${table}_${month[0]}`);
    dropped++;
  }
  return dropped;
}

async function isTable(sql: Sql, name: string): Promise<boolean> {
  return (await sql.get("SELECT to_regclass($1)::text AS name", [`hookline.${name}`]))?.name !== null;
}
