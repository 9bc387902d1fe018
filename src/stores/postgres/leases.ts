import type { Lease, NodeInfo, NodeRecord } from "../../core/journal/journal.ts";
import type { Sql } from "./database.ts";
import { integer, text } from "../../core/journal/columns.ts";
import type { Transaction } from "./transaction.ts";

/*
 * Everything a node holds (claimed runs and deliveries, named leases) lasts as long as its one row in `nodes`, so that
 * renewing it is one write for all of it. All nodes go by the database's clock. Not PostgreSQL's own session locks: they
 * vanish silently with a connection, and do not work behind PgBouncer.
 */

export interface Renewal {
  /** The database's clock. */
  now: number;
  /** The lease had ended before. */
  hadEnded: boolean;
}

/** In a separate transaction: nothing that waits for other work may keep it from being committed. */
export async function renewLease(
  { get, node }: Transaction,
  forMs: number,
  { info, watches }: { info?: NodeInfo; watches: boolean },
): Promise<Renewal> {
  const row = await get(RENEW_LEASE, [node, forMs, info && JSON.stringify(info), watches]);
  return { now: integer(row?.now), hadEnded: row?.ended === 1 };
}

const RENEW_LEASE = `
  WITH earlier AS (SELECT until FROM hookline.nodes WHERE id = $1),
  renewed AS (
    INSERT INTO hookline.nodes AS node (id, until, seen_at, info, watches)
    VALUES ($1, hookline.now_ms() + $2, hookline.now_ms(), $3, $4)
    ON CONFLICT (id) DO UPDATE SET until = excluded.until, seen_at = excluded.seen_at,
      info = coalesce(excluded.info, node.info), watches = excluded.watches)
  SELECT hookline.now_ms() AS now, (SELECT until <= hookline.now_ms() FROM earlier)::integer AS ended`;

/** Nodes with their data, also the ones that are gone since a moment. */
export async function listNodes({ all }: Sql): Promise<NodeRecord[]> {
  const rows = await all(
    `SELECT id, info, seen_at, (until > hookline.now_ms())::integer AS alive FROM hookline.nodes
     WHERE info IS NOT NULL ORDER BY id`,
  );
  return rows.map((row) => {
    const info: NodeInfo = JSON.parse(text(row.info));
    return { id: text(row.id), ...info, seenAt: integer(row.seen_at), isAlive: row.alive === 1 };
  });
}

/** `others`: also from a node whose own lease has ended. */
export async function acquireLease(
  { get, node }: Transaction,
  name: string,
  { others }: { others: boolean },
): Promise<Lease | undefined> {
  const row = await get(ACQUIRE_LEASE, [name, node, others]);
  return row && { name, token: integer(row.token) };
}

const ACQUIRE_LEASE = `
  INSERT INTO hookline.leases AS lease (name, node, token) VALUES ($1, $2, 1)
  ON CONFLICT (name) DO UPDATE SET token = lease.token + (lease.node <> $2)::integer, node = $2
  WHERE lease.node IN ($2, '') OR $3 AND NOT EXISTS (
    SELECT 1 FROM hookline.nodes WHERE nodes.id = lease.node AND until > hookline.now_ms())
  RETURNING token`;

/** The row stays, so that the token keeps growing. */
export async function releaseLease({ run, node, announce }: Transaction, { name, token }: Lease): Promise<void> {
  await run("UPDATE hookline.leases SET node = '' WHERE name = $1 AND token = $2 AND node = $3", [name, token, node]);
  announce("lease");
}

/** Holds the row until the commit, so that no other node can acquire the lease before it. */
export async function isLeaseHeld({ get, node }: Transaction, { name, token }: Lease): Promise<boolean> {
  const held = "SELECT 1 FROM hookline.leases WHERE name = $1 AND token = $2 AND node = $3 FOR SHARE";
  return (await get(held, [name, token, node])) !== undefined;
}
