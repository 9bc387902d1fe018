import type { Receipt } from "../types.ts";
import { integer, text } from "../storage/columns.ts";
import type { Database } from "../storage/database.ts";
import type { Retention } from "./port.ts";

/** Keys deleted by one commit, so that a large sweep does not block the event loop for long. */
const SWEEP_BATCH = 500;

/** What was first answered under a key. */
export type FirstReceipt = Omit<Receipt, "replayed">;

export interface KnownKey {
  fingerprint: string;
  receipt: FirstReceipt;
}

/** The key's first use, unless it has expired by `now`: not while its event is carried out. */
export function findKey(database: Database, scope: string, key: string, now: number): KnownKey | undefined {
  const row = database.get(
    `SELECT fingerprint, receipt FROM idempotency_keys
     WHERE scope = ? AND key = ? AND (expires_at > ? OR ${IS_CARRIED_OUT})`,
    scope,
    key,
    now,
  );
  return row && { fingerprint: text(row.fingerprint), receipt: JSON.parse(text(row.receipt)) };
}

/** Keeps what each key was answered, in the place of an expired use. */
export function rememberKeys(
  database: Database,
  use: { scope: string; fingerprint: string; expiresAt: number },
  receipts: Map<string, FirstReceipt>,
): void {
  for (const [key, receipt] of receipts) {
    database.run(
      `INSERT OR REPLACE INTO idempotency_keys (scope, key, fingerprint, expires_at, receipt)
       VALUES (?, ?, ?, ?, ?)`,
      use.scope,
      key,
      use.fingerprint,
      use.expiresAt,
      JSON.stringify(receipt),
    );
  }
}

/**
 * Deletes up to `SWEEP_BATCH` keys that have expired, or are the oldest of too many, but for those whose event is
 * unfinished. Gives how many.
 */
export function sweepKeys(database: Database, { now, maxKeys = Infinity }: Retention): number {
  const until = Math.max(now, oldestTooMany(database, maxKeys));
  return database.run(
    `DELETE FROM idempotency_keys WHERE (scope, key) IN
       (SELECT scope, key FROM
         (SELECT * FROM idempotency_keys WHERE expires_at <= ? ORDER BY expires_at LIMIT ${SWEEP_BATCH})
        AS idempotency_keys WHERE NOT ${IS_CARRIED_OUT})`,
    until,
  );
}

/** When the newest of the keys that are too many expires; 0 where there are none. */
function oldestTooMany(database: Database, maxKeys: number): number {
  if (maxKeys === Infinity) return 0;
  const row = database.get(
    "SELECT expires_at FROM idempotency_keys ORDER BY expires_at DESC LIMIT 1 OFFSET ?",
    maxKeys,
  );
  return row ? integer(row.expires_at) : 0;
}

const IS_CARRIED_OUT = `EXISTS (
  SELECT 1 FROM events JOIN event_states USING (seq) WHERE id = idempotency_keys.receipt ->> 'eventId' AND status = 'accepted')`;
