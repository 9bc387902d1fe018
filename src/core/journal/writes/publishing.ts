import { createNonce } from "../../shared/id.ts";
import { ABANDONED, toAbandonedKey, toAbandonedRange, toSubscription } from "../publication-rows.ts";
import {
  isLive,
  MAX_SUBSCRIPTIONS,
  type Publications,
  type PublishedType,
  type SubscribeResult,
  type SubscriptionProgress,
  type SubscriptionTerms,
} from "../publications.ts";
import type { Lease } from "../records/node.ts";
import { integer, optional } from "../columns.ts";
import type { Work, Writer } from "./writer.ts";

/**
 * A transaction that numbers sees only what is committed, and what others commit later gets higher positions. The lock keeps
 * a node away that has lost the lease and does not know it yet.
 */
export function* numberPublications(
  writer: Writer,
  lease: Lease,
  { seqs, types }: { seqs: number[]; types: PublishedType[] },
): Work<boolean> {
  yield* writer.lock(["publications"]);
  if (!(yield* writer.holdsLease(lease))) return false;
  const numbered = yield* writer.run(NUMBER, [seqs]);
  yield* writer.run("UPDATE hookline.publishing SET position = position + $1", [numbered]);
  yield* writer.runEach(
    PUT_TYPE,
    types.map(({ name, payloadSchema }) => [name, JSON.stringify(payloadSchema)]),
  );
  writer.announce("publication");
  return true;
}

const NUMBER = `
  WITH found AS (
    SELECT seq FROM hookline.publications WHERE seq = ANY($1::bigint[]) AND position IS NULL ORDER BY seq FOR UPDATE),
  numbered AS (SELECT seq, row_number() OVER (ORDER BY seq) AS n FROM found)
  UPDATE hookline.publications AS publication
  SET position = (SELECT position FROM hookline.publishing) + n FROM numbered WHERE publication.seq = numbered.seq`;

const PUT_TYPE = `
  INSERT INTO hookline.publication_types (name, payload_schema) VALUES ($1, $2)
  ON CONFLICT (name) DO UPDATE SET payload_schema = excluded.payload_schema`;

/** A live subscription with this id keeps its progress. */
export function* subscribe(
  writer: Writer,
  terms: SubscriptionTerms,
  progress: SubscriptionProgress,
): Work<SubscribeResult> {
  const { get, run } = writer;
  const { id, principal, url } = terms;
  yield* writer.lock(["subscriptions"]);
  const row = yield* get("SELECT * FROM hookline.subscriptions WHERE id = $1", [id]);
  const earlier = row && toSubscription(row);
  const live = earlier && isLive(earlier, terms.refreshedAt) ? earlier : undefined;
  if (!live) {
    const counts = yield* get(COUNT_SUBSCRIPTIONS, [principal, id]);
    const { principal: max, all } = MAX_SUBSCRIPTIONS;
    if (integer(counts?.own) >= max) return { kind: "full", max };
    if (integer(counts?.total) >= all) return { kind: "full", max: all };
  }
  if (!live) yield* run(DELETE_ABANDONED, toAbandonedRange(id));
  const generation = live?.generation ?? createNonce();
  const [termsText, progressText] = [JSON.stringify(terms), JSON.stringify(progress)];
  yield* run(PUT_SUBSCRIPTION, [id, generation, principal, url, termsText, progressText, live !== undefined]);
  yield* noteChange(writer);
  const subscription = { ...terms, generation, progress: live?.progress ?? progress };
  return { kind: live ? "refreshed" : "created", subscription };
}

/** The node that delivers may write the progress of a subscription meanwhile. */
const PUT_SUBSCRIPTION = `
  INSERT INTO hookline.subscriptions AS subscription (id, generation, principal, url, terms, progress)
  VALUES ($1, $2, $3, $4, $5, $6)
  ON CONFLICT (id) DO UPDATE SET generation = excluded.generation, terms = excluded.terms,
    progress = CASE WHEN $7::boolean THEN subscription.progress ELSE excluded.progress END`;

const COUNT_SUBSCRIPTIONS = `
  SELECT count(*) FILTER (WHERE principal = $1) AS own, count(*) AS total FROM hookline.subscriptions WHERE id <> $2`;

/** The node that delivers reads the subscriptions again. */
function* noteChange({ run, announce }: Writer): Work<void> {
  yield* run("UPDATE hookline.publishing SET version = version + 1");
  announce("publication");
}

export function* unsubscribe(writer: Writer, id: string): Work<boolean> {
  const isDeleted = (yield* writer.run("DELETE FROM hookline.subscriptions WHERE id = $1", [id])) > 0;
  yield* writer.run(DELETE_ABANDONED, toAbandonedRange(id));
  if (isDeleted) yield* noteChange(writer);
  return isDeleted;
}

export function* endSubscription(
  writer: Writer,
  id: string,
  ended: NonNullable<SubscriptionProgress["ended"]>,
): Work<boolean> {
  const row = yield* writer.get("SELECT * FROM hookline.subscriptions WHERE id = $1 FOR UPDATE", [id]);
  if (!row) return false;
  const progress = JSON.stringify({ ...toSubscription(row).progress, ended });
  yield* writer.run("UPDATE hookline.subscriptions SET progress = $2 WHERE id = $1", [id, progress]);
  yield* noteChange(writer);
  return true;
}

export function* saveProgress(
  writer: Writer,
  lease: Lease,
  { saved, deleted }: Parameters<Publications["saveProgress"]>[1],
): Work<boolean> {
  if (!(yield* writer.holdsLease(lease))) return false;
  yield* writer.runEach(
    SAVE_PROGRESS,
    saved.map(({ id, generation, progress }) => [id, generation, JSON.stringify(progress)]),
  );
  yield* writer.runEach(
    PUT_ABANDONED,
    saved.flatMap(({ id, abandoned }) =>
      abandoned.map((event) => [toAbandonedKey(id, event.position), JSON.stringify(event)]),
    ),
  );
  yield* writer.runEach(
    "DELETE FROM hookline.subscriptions WHERE id = $1 AND generation = $2",
    deleted.map(({ id, generation }) => [id, generation]),
  );
  yield* writer.runEach(
    `${DELETE_ABANDONED} AND NOT EXISTS (SELECT 1 FROM hookline.subscriptions WHERE id = $3)`,
    deleted.map(({ id }) => [...toAbandonedRange(id), id]),
  );
  return true;
}

const PUT_ABANDONED = `
  INSERT INTO hookline.notes (kind, key, expires_at, value) VALUES ('${ABANDONED}', $1, NULL, $2)
  ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value`;

const DELETE_ABANDONED = `DELETE FROM hookline.notes WHERE kind = '${ABANDONED}' AND key > $1 AND key < $2`;

/** An operator may have ended it meanwhile. */
const SAVE_PROGRESS = `
  UPDATE hookline.subscriptions SET progress = $3
  WHERE id = $1 AND generation = $2 AND progress::json ->> 'ended' IS NULL`;

/** Deletes publications from before a time. Gives how many. */
export function* sweepPublications({ get, run }: Writer, before: number, limit: number): Work<number> {
  const row = yield* get(OLDEST_PUBLICATIONS, [limit, before]);
  const last = optional(integer, row?.last ?? null) ?? 0;
  yield* run(NOTE_SWEPT, [last]);
  return yield* run("DELETE FROM hookline.publications WHERE position <= $1", [last]);
}

const NOTE_SWEPT = `
  UPDATE hookline.publishing
  SET swept = $1, swept_id = (SELECT id FROM hookline.publications WHERE position = $1) WHERE swept < $1`;

const OLDEST_PUBLICATIONS = `
  SELECT max(position) AS last FROM (
    SELECT position, at FROM hookline.publications WHERE position IS NOT NULL ORDER BY position LIMIT $1) AS oldest
  WHERE at < $2`;
