import type { AcceptResult, Idempotency, NewEvent } from "../journal.ts";
import { type Commit, type FirstReceipt, type KnownKey, toReplay, usesKeys } from "../plan.ts";
import { integer, type Row, text } from "../rows.ts";
import type { Sql } from "./database.ts";
import { type Batch, toPostgresText } from "./transaction.ts";

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
    .flatMap(({ idempotency: use }) => use?.keys.map((key) => [use.scope, key]) ?? []);
  const given = uses.filter(([, key]) => key !== "");
  if (given.length === 0) return new Map();
  const rows = await all(
    SELECT_KEYS,
    [0, 1].map((place) => given.map((use) => toPostgresText(use[place]!))),
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

/** Stores the answer of each key. Gives how many the batch has. */
export async function addKeys(
  { run }: Sql,
  batch: Batch,
  commits: { event: NewEvent; plan: Commit }[],
  stored: Keys,
): Promise<number> {
  const rows = new Map(
    commits.flatMap(({ event, plan }) =>
      [...plan.keys].map(([key, receipt]) => [
        nameOf(event.idempotency!.scope, key),
        toKeyRow(event.idempotency!, key, receipt),
      ]),
    ),
  );
  const replaced = [...rows].filter(([name]) => stored.has(name)).map(([, row]) => row);
  if (replaced.length > 0) {
    const values = [replaced.map(({ scope }) => toPostgresText(scope)), replaced.map(({ key }) => toPostgresText(key))];
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

function toKeyRow({ scope, fingerprint, expiresAt }: Idempotency, key: string, receipt: FirstReceipt) {
  const { eventId } = receipt;
  return { scope, key, fingerprint, expires_at: expiresAt, event_id: eventId, receipt: JSON.stringify(receipt) };
}

export async function findReplay(
  sql: Sql,
  scope: string,
  key: string,
  fingerprint: string,
): Promise<AcceptResult | undefined> {
  const row = await sql.get(SELECT_KEYS, [[toPostgresText(scope)], [toPostgresText(key)]]);
  const first = row && toStoredKey(row);
  if (!first || (first.expiresAt <= Date.now() && !first.isUnfinished)) return undefined;
  return first.fingerprint === fingerprint ? toReplay(first.receipt) : { kind: "conflict" };
}

export function nameOf(scope: string, key: string): string {
  return `${toPostgresText(scope)}\n${toPostgresText(key)}`;
}
