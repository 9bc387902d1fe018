import { createNonce } from "../../shared/id.ts";
import { planSubscribe, toPublicationRow, toSubscription, toSubscriptionRow } from "../publication-rows.ts";
import type {
  Publications,
  PublishedType,
  SubscribeResult,
  SubscriptionProgress,
  SubscriptionTerms,
} from "../publications.ts";
import type { NewPublication } from "../records/event.ts";
import type { Lease } from "../records/node.ts";
import { integer, optional, text } from "../rows.ts";
import type { Sql } from "./database.ts";
import { isLeaseHeld } from "./leases.ts";
import { type Batch, lock, toJson, type Transaction } from "./transaction.ts";

export function addPublications(batch: Batch, publications: NewPublication[]): void {
  batch.add(
    "new_publications",
    publications.map((publication, ord) => ({ ord, ...toPublicationRow(publication) })),
    `INSERT INTO hookline.publications (id, name, arguments, data, at, via)
     SELECT id, name, arguments, data, at, via FROM json_to_recordset($rows)
       AS row (ord integer, id text, name text, arguments text, data text, at bigint, via text) ORDER BY ord`,
  );
}

/**
 * A dump that is restored is another store: it may have less than subscribers have seen. It has another cluster, database or
 * table. A copy of the cluster's files cannot be told from the original.
 */
export async function identifyStore({ get, run }: Transaction): Promise<string> {
  const mayRead = await get("SELECT has_function_privilege('pg_control_system()', 'EXECUTE')::integer AS allowed");
  const cluster =
    mayRead?.allowed === 1 ? await get("SELECT system_identifier::text AS id FROM pg_control_system()") : undefined;
  const own = await get(
    `SELECT 'hookline.publishing'::regclass::oid::bigint AS relation,
       (SELECT oid::bigint FROM pg_database WHERE datname = current_database()) AS database`,
  );
  const place = [cluster?.id ?? "", own?.database, own?.relation].join(" ");
  const row = await get("SELECT store_id, place FROM hookline.publishing FOR UPDATE");
  const known = optional(text, row?.place ?? null);
  if (known === place) return text(row?.store_id);
  const id = known === undefined ? text(row?.store_id) : createNonce().slice(0, 12);
  await run("UPDATE hookline.publishing SET store_id = $1, place = $2", [id, place]);
  return id;
}

/**
 * A transaction that numbers sees only what is committed, and what others commit later gets higher positions. The lock keeps
 * a node away that has lost the lease and does not know it yet.
 */
export async function numberPublications(
  transaction: Transaction,
  lease: Lease,
  { seqs, types }: { seqs: number[]; types: PublishedType[] },
): Promise<boolean> {
  const { run, announce } = transaction;
  await lock(transaction, ["publications"]);
  if (!(await isLeaseHeld(transaction, lease))) return false;
  const numbered = await run(NUMBER, [seqs]);
  await run("UPDATE hookline.publishing SET position = position + $1", [numbered]);
  if (types.length > 0) {
    await run(PUT_TYPES, [
      toJson(types.map(({ name, payloadSchema }) => ({ name, payload_schema: JSON.stringify(payloadSchema) }))),
    ]);
  }
  announce("publication");
  return true;
}

const NUMBER = `
  WITH found AS (
    SELECT seq FROM hookline.publications WHERE seq = ANY($1::bigint[]) AND position IS NULL ORDER BY seq FOR UPDATE),
  numbered AS (SELECT seq, row_number() OVER (ORDER BY seq) AS n FROM found)
  UPDATE hookline.publications AS publication
  SET position = (SELECT position FROM hookline.publishing) + n FROM numbered WHERE publication.seq = numbered.seq`;

const PUT_TYPES = `
  INSERT INTO hookline.publication_types (name, payload_schema)
  SELECT * FROM json_to_recordset($1::json) AS row (name text, payload_schema text)
  ON CONFLICT (name) DO UPDATE SET payload_schema = excluded.payload_schema`;

export async function subscribe(
  transaction: Transaction,
  terms: SubscriptionTerms,
  progress: SubscriptionProgress,
): Promise<SubscribeResult> {
  const { get, run } = transaction;
  await lock(transaction, ["subscriptions"]);
  const row = await get("SELECT * FROM hookline.subscriptions WHERE id = $1", [terms.id]);
  const counts = await get(COUNT_SUBSCRIPTIONS, [terms.principal, terms.id]);
  const plan = planSubscribe(row, terms, () => ({ principal: integer(counts?.own), all: integer(counts?.total) }));
  if (typeof plan === "object") return plan;
  const kept = plan === "refresh" ? row : undefined;
  const values = toSubscriptionRow(terms, kept ? text(kept.generation) : createNonce(), progress);
  await run(PUT_SUBSCRIPTION, [toJson([values]), kept !== undefined]);
  await noteChange(transaction);
  const subscription = toSubscription(kept ? { ...values, progress: text(kept.progress) } : values);
  return { kind: kept ? "refreshed" : "created", subscription };
}

/** The node that delivers may write the progress of a subscription meanwhile. */
const PUT_SUBSCRIPTION = `
  INSERT INTO hookline.subscriptions AS subscription (id, generation, principal, url, terms, progress)
  SELECT * FROM json_to_recordset($1::json)
    AS row (id text, generation text, principal text, url text, terms text, progress text)
  ON CONFLICT (id) DO UPDATE SET generation = excluded.generation, terms = excluded.terms,
    progress = CASE WHEN $2 THEN subscription.progress ELSE excluded.progress END`;

const COUNT_SUBSCRIPTIONS = `
  SELECT count(*) FILTER (WHERE principal = $1) AS own, count(*) AS total FROM hookline.subscriptions WHERE id <> $2`;

/** The node that delivers reads the subscriptions again. */
async function noteChange({ run, announce }: Transaction): Promise<void> {
  await run("UPDATE hookline.publishing SET version = version + 1");
  announce("publication");
}

export async function unsubscribe(transaction: Transaction, id: string): Promise<boolean> {
  const isDeleted = (await transaction.run("DELETE FROM hookline.subscriptions WHERE id = $1", [id])) > 0;
  if (isDeleted) await noteChange(transaction);
  return isDeleted;
}

export async function endSubscription(
  transaction: Transaction,
  id: string,
  ended: NonNullable<SubscriptionProgress["ended"]>,
): Promise<boolean> {
  const row = await transaction.get("SELECT * FROM hookline.subscriptions WHERE id = $1 FOR UPDATE", [id]);
  if (!row) return false;
  const progress = { ...toSubscription(row).progress, ended };
  await transaction.run("UPDATE hookline.subscriptions SET progress = $2 WHERE id = $1", [
    id,
    JSON.stringify(progress),
  ]);
  await noteChange(transaction);
  return true;
}

export async function saveProgress(
  transaction: Transaction,
  lease: Lease,
  { saved, deleted }: Parameters<Publications["saveProgress"]>[1],
): Promise<boolean> {
  const { run } = transaction;
  if (!(await isLeaseHeld(transaction, lease))) return false;
  const rows = saved.map(({ id, generation, progress }) => ({ id, generation, progress: JSON.stringify(progress) }));
  if (rows.length > 0) await run(SAVE_PROGRESS, [toJson(rows)]);
  for (const { id, generation } of deleted) {
    await run("DELETE FROM hookline.subscriptions WHERE id = $1 AND generation = $2", [id, generation]);
  }
  return true;
}

/** An operator may have ended it meanwhile. */
const SAVE_PROGRESS = `
  UPDATE hookline.subscriptions AS subscription SET progress = row.progress
  FROM json_to_recordset($1::json) AS row (id text, generation text, progress text)
  WHERE subscription.id = row.id AND subscription.generation = row.generation
    AND subscription.progress::json ->> 'ended' IS NULL`;

/** Gives how many publications it deleted. */
export async function sweepPublications({ get, run }: Sql, keepFrom: number, limit: number): Promise<number> {
  const row = await get(OLDEST_PUBLICATIONS, [limit, keepFrom]);
  const last = optional(integer, row?.last ?? null) ?? 0;
  if (last > 0) await run("UPDATE hookline.publishing SET swept = greatest(swept, $1)", [last]);
  return (
    (await run("DELETE FROM hookline.publications WHERE position <= $1", [last])) +
    (await run("DELETE FROM hookline.publications WHERE position IS NULL AND at < $1", [keepFrom]))
  );
}

const OLDEST_PUBLICATIONS = `
  SELECT max(position) AS last FROM (
    SELECT position, at FROM hookline.publications WHERE position IS NOT NULL ORDER BY position LIMIT $1) AS oldest
  WHERE at < $2`;
