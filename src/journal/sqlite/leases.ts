import type { Lease } from "../journal.ts";
import { integer } from "../rows.ts";
import type { Transaction } from "./group-commit.ts";

/*
 * Everything a node holds (claimed runs and deliveries, named leases) lasts as long as its one row in `nodes`, so that
 * renewing it is one write for all of it.
 */

const RENEW_NODE = "INSERT INTO nodes (id, until) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET until = ?2";

export function renewNode(transaction: Transaction, forMs: number): { runs: number; deliveries: number } {
  const now = Date.now();
  transaction.run(RENEW_NODE, transaction.node, now + forMs);
  const runs = transaction.run(RETURN_RUNS, transaction.node, now);
  const deliveries = transaction.run(RETURN_DELIVERIES, transaction.node, now);
  if (runs > 0) transaction.announce("run");
  if (deliveries > 0) transaction.announce("delivery");
  transaction.run("DELETE FROM nodes WHERE until <= ? AND id <> ?", now, transaction.node);
  return { runs, deliveries };
}

/** For a process that knows that all others are dead. The next `renewNode` returns their work. */
export function endOtherNodes({ run, node }: Transaction): void {
  run("DELETE FROM nodes WHERE id <> ?", node);
}

export function endNode({ run, node }: Transaction): void {
  run("DELETE FROM nodes WHERE id = ?", node);
}

export function acquireLease({ get, node }: Transaction, name: string): Lease | undefined {
  const row = get(ACQUIRE_LEASE, name, node, Date.now());
  return row && { name, token: integer(row.token) };
}

const ACQUIRE_LEASE = `
  INSERT INTO leases (name, node, token) VALUES (?1, ?2, 1)
  ON CONFLICT DO UPDATE SET token = token + (node <> ?2), node = ?2
  WHERE node = ?2 OR NOT EXISTS (SELECT 1 FROM nodes WHERE id = leases.node AND until > ?3)
  RETURNING token`;

/** The row stays, so that the token keeps growing. */
export function releaseLease({ run, node, announce }: Transaction, { name, token }: Lease): void {
  run("UPDATE leases SET node = '' WHERE name = ? AND token = ? AND node = ?", name, token, node);
  announce("lease");
}

export function isLeaseHeld({ get, node }: Transaction, { name, token }: Lease): boolean {
  return get("SELECT 1 FROM leases WHERE name = ? AND token = ? AND node = ?", name, token, node) !== undefined;
}

/** Claimed by another node that has no valid lease. */
const IS_ABANDONED = "node IS NOT ?1 AND NOT EXISTS (SELECT 1 FROM nodes WHERE nodes.id = node AND until > ?2)";

/* Attempts are kept: one of them may have crashed the process. */

const RETURN_RUNS = `
  UPDATE runs INDEXED BY runs_state SET state = 'ready' WHERE state = 'running' AND ${IS_ABANDONED}`;

const RETURN_DELIVERIES = `
  UPDATE deliveries INDEXED BY deliveries_state SET state = 'pending' WHERE state = 'sending' AND ${IS_ABANDONED}`;
