import { statSync } from "node:fs";
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
import { integer, type Row, text } from "../rows.ts";
import type { Database } from "./database.ts";
import type { Transaction } from "./group-commit.ts";

export function insertPublication({ run, announce }: Transaction, publication: NewPublication): void {
  const { id, name, arguments: args, data, at, via } = toPublicationRow(publication);
  run(INSERT_PUBLICATION, ...[id, name, args, data, at, via].map(toBound));
  announce("publication");
}

const INSERT_PUBLICATION = `
  INSERT OR FAIL INTO publications (id, name, arguments, data, at, via) VALUES (?, ?, ?, ?, ?, ?)`;

function toBound(value: Row[string] | undefined): string | number | null {
  return typeof value === "bigint" || value instanceof Uint8Array ? Number(value) : (value ?? null);
}

/** A copy of the file is another store: it may have less than subscribers have seen. */
export function identifyStore({ get, run }: Transaction, file: string): string {
  const { dev, ino } = statSync(file, { bigint: true });
  const place = `${dev} ${ino}`;
  const row = get("SELECT store_id, place FROM publishing");
  if (row?.place === place) return text(row.store_id);
  const id = row?.place === null ? text(row.store_id) : createNonce().slice(0, 12);
  run("UPDATE publishing SET store_id = ?, place = ?", id, place);
  return id;
}

/** Makes a copy of a journal another store, wherever it is restored. */
export function markCopy({ get, run }: Pick<Database, "get" | "run">): void {
  if (get("SELECT 1 FROM sqlite_schema WHERE name = 'publishing'")) {
    run("UPDATE publishing SET place = '' WHERE place IS NOT NULL");
  }
}

export function numberPublications(
  { run, get, announce }: Transaction,
  _lease: Lease,
  { seqs, types }: { seqs: number[]; types: PublishedType[] },
): boolean {
  let position = integer(get("SELECT position FROM publishing")?.position);
  for (const seq of seqs) {
    position += run("UPDATE publications SET position = ? WHERE seq = ? AND position IS NULL", position + 1, seq);
  }
  run("UPDATE publishing SET position = ?", position);
  for (const { name, payloadSchema } of types) {
    run(
      "INSERT OR REPLACE INTO publication_types (name, payload_schema) VALUES (?, ?)",
      name,
      JSON.stringify(payloadSchema),
    );
  }
  announce("publication");
  return true;
}

export function subscribe(
  transaction: Transaction,
  terms: SubscriptionTerms,
  progress: SubscriptionProgress,
): SubscribeResult {
  const { get, run } = transaction;
  const row = get("SELECT * FROM subscriptions WHERE id = ?", terms.id);
  const plan = planSubscribe(row, terms, () => {
    const counts = get(COUNT_SUBSCRIPTIONS, terms.principal, terms.id);
    return { principal: integer(counts?.own), all: integer(counts?.total) };
  });
  if (typeof plan === "object") return plan;
  const kept = plan === "refresh" ? row : undefined;
  const stored = toSubscriptionRow(terms, kept ? text(kept.generation) : createNonce(), progress);
  const values = kept ? { ...stored, progress: text(kept.progress) } : stored;
  run(PUT_SUBSCRIPTION, ...SUBSCRIPTION_COLUMNS.map((column) => toBound(values[column])));
  noteChange(transaction);
  return { kind: kept ? "refreshed" : "created", subscription: toSubscription(values) };
}

const SUBSCRIPTION_COLUMNS = ["id", "generation", "principal", "url", "terms", "progress"];
const PUT_SUBSCRIPTION = `
  INSERT OR REPLACE INTO subscriptions (${SUBSCRIPTION_COLUMNS.join()}) VALUES (?, ?, ?, ?, ?, ?)`;
const COUNT_SUBSCRIPTIONS = `
  SELECT count(*) FILTER (WHERE principal = ?1) AS own, count(*) AS total FROM subscriptions WHERE id <> ?2`;

/** The node that delivers reads the subscriptions again. */
function noteChange({ run, announce }: Transaction): void {
  run("UPDATE publishing SET version = version + 1");
  announce("publication");
}

export function unsubscribe(transaction: Transaction, id: string): boolean {
  const isDeleted = transaction.run("DELETE FROM subscriptions WHERE id = ?", id) > 0;
  if (isDeleted) noteChange(transaction);
  return isDeleted;
}

export function endSubscription(
  transaction: Transaction,
  id: string,
  ended: NonNullable<SubscriptionProgress["ended"]>,
): boolean {
  const row = transaction.get("SELECT * FROM subscriptions WHERE id = ?", id);
  if (!row) return false;
  const progress = { ...toSubscription(row).progress, ended };
  transaction.run("UPDATE subscriptions SET progress = ? WHERE id = ?", JSON.stringify(progress), id);
  noteChange(transaction);
  return true;
}

export function saveProgress(
  { run }: Transaction,
  _lease: Lease,
  { saved, deleted }: Parameters<Publications["saveProgress"]>[1],
): boolean {
  for (const { id, generation, progress } of saved) run(SAVE_PROGRESS, JSON.stringify(progress), id, generation);
  for (const { id, generation } of deleted) {
    run("DELETE FROM subscriptions WHERE id = ? AND generation = ?", id, generation);
  }
  return true;
}

/** An operator may have ended it meanwhile. */
const SAVE_PROGRESS = `
  UPDATE subscriptions SET progress = ?1 WHERE id = ?2 AND generation = ?3 AND progress ->> '$.ended' IS NULL`;

/** Gives how many publications it deleted. `isTooLarge`: the oldest may go at any age. */
export function sweepPublications(
  { run, get }: Transaction,
  { keepFrom, isTooLarge, limit }: { keepFrom: number; isTooLarge: boolean; limit: number },
): number {
  const row = get(OLDEST_PUBLICATIONS, limit, isTooLarge ? Infinity : keepFrom);
  const last = row?.last === null || row?.last === undefined ? 0 : integer(row.last);
  if (last > 0) run("UPDATE publishing SET swept = max(swept, ?)", last);
  return (
    run("DELETE FROM publications WHERE position <= ?", last) +
    run("DELETE FROM publications WHERE position IS NULL AND at < ?", keepFrom)
  );
}

const OLDEST_PUBLICATIONS = `
  SELECT max(position) AS last FROM (
    SELECT position, at FROM publications WHERE position IS NOT NULL ORDER BY position LIMIT ?1) WHERE at < ?2`;
