import { INTERRUPTED } from "../../core/journal/records/failed-attempt.ts";
import { insertAttempts } from "../../core/journal/writes/failed-attempts.ts";
import { endLives, leaveLife, signLife } from "../../core/journal/writes/lives.ts";
import { toInterrupted } from "../../core/journal/writes/suspect-states.ts";
import type { Transaction } from "./transaction.ts";
import { createWriter, finish } from "./writer.ts";

/** How long a node that is gone is still listed, and changes can be read. */
const FORGET_AFTER_MS = 600_000;

export interface Recovered {
  runs: number;
  deliveries: number;
}

/** `lostTokens`: of this node's claims whose answer never came. `others`: also what nodes claimed whose lease has ended. */
export async function returnWork(
  transaction: Transaction,
  { lostTokens, others, now }: { lostTokens: number[]; others: boolean; now: number },
): Promise<Recovered> {
  const { run, node, clockOffsetMs, announce } = transaction;
  const at = now + clockOffsetMs;
  const writer = createWriter(transaction);
  await finish(signLife(writer, node, at));
  const recovered = {
    runs: await run(RELEASE_RUNS, [lostTokens]),
    deliveries: await run(RELEASE_DELIVERIES, [lostTokens]),
  };
  if (others) {
    recovered.runs += await run(RETURN_RUNS, [node]);
    recovered.deliveries += await run(RETURN_DELIVERIES, [node]);
    await finish(endLives(writer, at, NODE_IS_GONE));
    await run(FORGET_NODES, [FORGET_AFTER_MS, node]);
  }
  if (recovered.runs > 0) announce("run");
  if (recovered.deliveries > 0) announce("delivery");
  await run("DELETE FROM hookline.changes WHERE at <= hookline.now_ms() - $1", [FORGET_AFTER_MS]);
  return recovered;
}

const FORGET_NODES = "DELETE FROM hookline.nodes WHERE until <= hookline.now_ms() - $1 AND id <> $2";

/* Claimed by this node without its knowing: nothing was executed. */

const RELEASE_RUNS = `
  UPDATE hookline.runs SET state = 'ready', attempts = attempts - 1
  WHERE id = ANY(ARRAY(SELECT id FROM hookline.runs
    WHERE state = 'running' AND claims = ANY($1::bigint[]) FOR UPDATE SKIP LOCKED))`;

const RELEASE_DELIVERIES = `
  UPDATE hookline.deliveries SET state = 'pending', attempts = attempts - 1
  WHERE id = ANY(ARRAY(SELECT id FROM hookline.deliveries
    WHERE state = 'sending' AND claims = ANY($1::bigint[]) FOR UPDATE SKIP LOCKED))`;

/**
 * The column names a node that has no valid lease. A statement sees the leases of its start: they are compared with that time,
 * and it never waits for a row, since they would be renewed meanwhile.
 */
const hasNoLease = (node: string): string => `NOT EXISTS (
  SELECT 1 FROM hookline.nodes
  WHERE nodes.id = ${node} AND until > floor(extract(epoch FROM statement_timestamp()) * 1000))`;

const NODE_IS_GONE = hasNoLease("lives.node");

const ABANDONED = `node IS DISTINCT FROM $1 AND ${hasNoLease("node")} FOR UPDATE SKIP LOCKED`;

/** Attempts are kept: one of them may have ended the process. */
const returnAbandoned = (table: "runs" | "deliveries", from: string, to: string): string => `
  WITH work AS (
    UPDATE hookline.${table} SET state = '${to}', ${toInterrupted("hookline.now_ms()")}
    WHERE id = ANY(ARRAY(SELECT id FROM hookline.${table} WHERE state = '${from}' AND ${ABANDONED}))
    RETURNING id, started_at)
  ${insertAttempts("work", "NULL", `'${INTERRUPTED}'`)}`;

const RETURN_RUNS = returnAbandoned("runs", "running", "ready");
const RETURN_DELIVERIES = returnAbandoned("deliveries", "sending", "pending");

/** Gives back everything that this node holds. */
export async function endNode(transaction: Transaction, now: number): Promise<void> {
  const { run, node, clockOffsetMs, announce } = transaction;
  await finish(leaveLife(createWriter(transaction), node, now + clockOffsetMs));
  await run("DELETE FROM hookline.nodes WHERE id = $1", [node]);
  await run("UPDATE hookline.runs SET state = 'ready' WHERE state = 'running' AND node = $1", [node]);
  await run("UPDATE hookline.deliveries SET state = 'pending' WHERE state = 'sending' AND node = $1", [node]);
  await run("UPDATE hookline.leases SET node = '' WHERE node = $1", [node]);
  for (const work of ["run", "delivery", "heartbeat", "lease"] as const) announce(work);
}
