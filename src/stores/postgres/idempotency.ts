import type { AcceptResult, NewEvent } from "../../core/journal/journal.ts";
import { type KnownKey, toReplay, usesKeys } from "../../core/journal/plan.ts";
import { integer, type Row, text } from "../../core/journal/columns.ts";
import { awaitEarlierCommits } from "./changes.ts";
import type { Sql } from "./database.ts";
import { type Batch, type Transaction } from "./transaction.ts";
import { toPostgresText } from "./text.ts";

interface StoredKey extends KnownKey {
  expiresAt: number;
  /** Its event is not done. */
  isUnfinished: boolean;
}

/** By their name. */
export type Keys = Map<string, StoredKey>;

export async function readKeys({ all }: Sql, events: NewEvent[]): Promise<Keys> {
  const uses = events
    .filter(usesKeys)
    .flatMap(({ idempotency: use }) => use && [...use.keys, use.signature?.key ?? ""].map((key) => [use.scope, key]))
    .filter((use) => use !== undefined);
  const given = uses.filter(([, key]) => key !== "");
  if (given.length === 0) return new Map();
  const rows = await all(
    SELECT_KEYS,
    [0, 1].map((place) => given.map((use) => use[place]!)),
  );
  return new Map(rows.map((row) => [nameOf(text(row.scope), text(row.key)), toStoredKey(row)]));
}

const SELECT_KEYS = `
  SELECT scope, key, fingerprint, expires_at, receipt,
    EXISTS (SELECT 1 FROM hookline.event_states WHERE id = event_id AND status = 'accepted')::integer AS unfinished
  FROM hookline.idempotency_keys WHERE (scope, key) IN (SELECT * FROM unnest($1::text[], $2::text[]))`;

function toStoredKey(row: Row): StoredKey {
  return {
    fingerprint: text(row.fingerprint),
    receipt: JSON.parse(text(row.receipt)),
    expiresAt: integer(row.expires_at),
    isUnfinished: integer(row.unfinished) === 1,
  };
}

/** A key that is remembered from now on. */
export interface AddedKey {
  scope: string;
  key: string;
  use: KnownKey & { expiresAt: number };
}

/** Stores the answer of each key. Gives how many the batch has. */
export async function addKeys({ run }: Sql, batch: Batch, added: AddedKey[], stored: Keys): Promise<number> {
  const rows = new Map(added.map((key) => [nameOf(key.scope, key.key), toKeyRow(key)]));
  const replaced = [...rows].filter(([name]) => stored.has(name)).map(([, row]) => row);
  if (replaced.length > 0) {
    const values = [replaced.map(({ scope }) => scope), replaced.map(({ key }) => key)];
    await run(DELETE_KEYS, values);
  }
  const sorted = [...rows].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
  batch.add(
    "new_keys",
    sorted,
    `INSERT INTO hookline.idempotency_keys (scope, key, fingerprint, expires_at, event_id, receipt)
     SELECT * FROM json_to_recordset($rows) AS row (scope text, key text, fingerprint text, expires_at bigint,
       event_id uuid, receipt text)
     ON CONFLICT DO NOTHING RETURNING 1`,
  );
  return sorted.length;
}

const DELETE_KEYS = `
  DELETE FROM hookline.idempotency_keys WHERE (scope, key) IN (SELECT * FROM unnest($1::text[], $2::text[]))`;

function toKeyRow({ scope, key, use: { fingerprint, expiresAt, receipt } }: AddedKey) {
  const { eventId } = receipt;
  return { scope, key, fingerprint, expires_at: expiresAt, event_id: eventId, receipt: JSON.stringify(receipt) };
}

export async function findReplay(
  sql: Sql,
  scope: string,
  key: string,
  fingerprint: string,
): Promise<AcceptResult | undefined> {
  const row = await sql.get(SELECT_KEYS, [[scope], [key]]);
  const first = row && toStoredKey(row);
  if (!first || (first.expiresAt <= Date.now() && !first.isUnfinished)) return undefined;
  return first.fingerprint === fingerprint ? toReplay(first.receipt) : { kind: "conflict" };
}

/** Waits for earlier commits: a repeated answer must be as durable as the first one. */
export async function confirmReplays(transaction: Transaction, found: AcceptResult[]): Promise<AcceptResult[]> {
  awaitEarlierCommits(transaction, transaction.node);
  return found;
}

export function nameOf(scope: string, key: string): string {
  return `${toPostgresText(scope)}\n${toPostgresText(key)}`;
}
