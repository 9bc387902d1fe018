import { isId } from "../../shared/id.ts";
import type { DeadLetter, Journal } from "../journal.ts";
import { RUN_DROPPED } from "../records/approval.ts";
import { optional, type Row, text, toDeadLetter } from "../rows.ts";
import { withdrawApprovals } from "./approvals.ts";
import type { Sql } from "./database.ts";
import { lockOf } from "./deliveries.ts";
import { updateEventCounts } from "./counters.ts";
import { lock, reportAll, sessionLock, toPostgresText, type Transaction } from "./transaction.ts";

/*
 * Dead letters are dead runs of hooks and failed deliveries. A failed heartbeat is not one: the next heartbeat gets its
 * system events.
 */

export async function listDeadLetters(
  { all }: Sql,
  { limit, before, kind, hook, group, failedFrom, failedTo }: Parameters<Journal["listDeadLetters"]>[0],
): Promise<DeadLetter[]> {
  if (before !== undefined && !isId(before)) return [];
  const [hookText, groupText] = [hook, group].map((value) => value && toPostgresText(value));
  const rows = await all(`(${DEAD_RUNS}) UNION ALL (${FAILED_DELIVERIES}) ORDER BY id DESC LIMIT $2`, [
    before,
    limit,
    kind,
    hookText,
    groupText,
    failedFrom,
    failedTo,
  ]);
  return rows.map(toDeadLetter);
}

const HOOK_OF_DELIVERY = "(SELECT hook FROM hookline.event_states AS event WHERE event.id = deliveries.event_id)";

const isChosen = (kind: DeadLetter["kind"], hook: string): string => `
  ($3::text IS NULL OR $3 = '${kind}') AND ($4::text IS NULL OR ${hook} = $4)
  AND ($5::text IS NULL OR error_group = $5) AND ($6::bigint IS NULL OR finished_at >= $6)
  AND ($7::bigint IS NULL OR finished_at < $7)`;

const DEAD_RUNS = `
  SELECT id, 'run' AS kind, event_id, hook, error, error_group, attempts, finished_at FROM hookline.runs
  WHERE state = 'dead' AND kind = 'hook' AND ($1::uuid IS NULL OR id < $1) AND ${isChosen("run", "hook")}
  ORDER BY id DESC LIMIT $2`;

const FAILED_DELIVERIES = `
  SELECT id, 'delivery' AS kind, event_id,
    ${HOOK_OF_DELIVERY} AS hook, error, error_group, attempts, finished_at
  FROM hookline.deliveries
  WHERE state = 'failed' AND ($1::uuid IS NULL OR id < $1) AND ${isChosen("delivery", HOOK_OF_DELIVERY)}
  ORDER BY id DESC LIMIT $2`;

export async function retryDeadLetter(transaction: Transaction, id: string, now: number): Promise<boolean> {
  const letter = await lockLetter(transaction, id);
  if (!letter) return false;
  const requeue = letter.kind === "run" ? REQUEUE_RUN : REQUEUE_DELIVERY;
  const row = await transaction.get(requeue, [id, now + transaction.clockOffsetMs]);
  if (!row) return false;
  updateEventCounts(transaction, [{ ...toOrigin(row), open: 1, dead: -1 }]);
  await reportEnd(transaction, id, row);
  transaction.announce("run");
  transaction.announce("delivery");
  return true;
}

export async function dropDeadLetter(transaction: Transaction, id: string): Promise<boolean> {
  const letter = await lockLetter(transaction, id);
  const row = letter && (await transaction.get(letter.kind === "run" ? DROP_RUN : DROP_DELIVERY, [id]));
  if (!row) return false;
  updateEventCounts(transaction, [{ ...toOrigin(row), open: 0, dead: -1 }]);
  await reportEnd(transaction, id, row);
  if (letter.kind === "run") await withdrawApprovals(transaction, { runId: id }, RUN_DROPPED);
  return true;
}

/** It is no dead letter any more. */
function reportEnd(transaction: Transaction, id: string, row: Row): Promise<void> {
  const { run_id: runId, event_id: eventId } = toOrigin(row);
  const change = { kind: "dead-letter", id, eventId, isDead: false } as const;
  return reportAll(transaction, [{ change, run: { id: runId, eventId } }]);
}

/** Takes the lock of its queue. */
async function lockLetter(transaction: Transaction, id: string): Promise<{ kind: "run" | "delivery" } | undefined> {
  if (!isId(id)) return undefined;
  const run = await transaction.get("SELECT session_key FROM hookline.runs WHERE id = $1", [id]);
  const delivery =
    run ?? (await transaction.get("SELECT channel, recipient FROM hookline.deliveries WHERE id = $1", [id]));
  if (!delivery) return undefined;
  await lock(transaction, [run ? sessionLock(text(run.session_key)) : lockOf(delivery)]);
  return { kind: run ? "run" : "delivery" };
}

function toOrigin(row: Row): { event_id: string | undefined; run_id: string } {
  return { event_id: optional(text, row.event_id), run_id: text(row.run_id) };
}

/* Behind what the session or the recipient has in progress. */

const REQUEUE_RUN = `
  UPDATE hookline.runs SET attempts = 0, due_at = $2, not_before = NULL, started_at = NULL, finished_at = NULL, error = NULL, unavailable_since = NULL, waiting_for = NULL,
    state = CASE WHEN EXISTS (SELECT 1 FROM hookline.runs AS other
      WHERE other.session_key = runs.session_key AND other.finished_at IS NULL) THEN 'queued' ELSE 'ready' END
  WHERE id = $1 AND state = 'dead' AND kind = 'hook' RETURNING id AS run_id, event_id`;

const REQUEUE_DELIVERY = `
  UPDATE hookline.deliveries SET attempts = 0, due_at = $2, not_before = NULL, finished_at = NULL, error = NULL,
    state = CASE WHEN EXISTS (SELECT 1 FROM hookline.deliveries AS other WHERE other.channel = deliveries.channel
      AND other.recipient IS NOT DISTINCT FROM deliveries.recipient AND other.finished_at IS NULL)
      THEN 'queued' ELSE 'pending' END
  WHERE id = $1 AND state = 'failed' RETURNING run_id, event_id`;

const DROP_RUN = `
  UPDATE hookline.runs SET state = 'dropped' WHERE id = $1 AND state = 'dead' AND kind = 'hook'
  RETURNING id AS run_id, event_id`;

const DROP_DELIVERY = `
  UPDATE hookline.deliveries SET state = 'dropped' WHERE id = $1 AND state = 'failed' RETURNING run_id, event_id`;
