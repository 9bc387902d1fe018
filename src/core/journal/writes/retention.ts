import { DAY_MS, HOUR_MS } from "../../shared/time.ts";
import type { Retention } from "../journal.ts";
import { integer } from "../columns.ts";
import { EVENT_STATUSES } from "../../types.ts";
import { sweepCodes, sweepLooseApprovals } from "./approval-states.ts";
import { sweepPublications } from "./publishing.ts";
import type { Work, Writer } from "./writer.ts";

export const FINISHED_STATUSES = EVENT_STATUSES.filter((status) => status !== "accepted");

/** Most rows of a kind that one commit deletes, if they are small. */
const BATCH = 500;

/**
 * Deletes a batch of what both stores keep in equal tables, and gives how many rows. Events and what belongs to them are
 * deleted by the `retention.ts` of each store. `limit`: most rows that are large. `publishedBefore`: publications of an
 * earlier time may go.
 */
export function* sweepSharedTables(
  writer: Writer,
  retention: Retention,
  { limit, publishedBefore }: { limit: number; publishedBefore: number },
): Work<number> {
  const { now, keepFrom, keepMessagesFrom = keepFrom } = retention;
  const storeNow = now + writer.clockOffsetMs;
  // Budgets count the whole day.
  const spentBefore = Math.min(keepFrom - HOUR_MS, now - (now % DAY_MS));
  const unnumbered = "DELETE FROM hookline.publications WHERE position IS NULL AND at < $1";
  return (
    (yield* sweepKeys(writer, retention)) +
    // Echoes of older messages are not recognized.
    (yield* sweepBefore(writer, MESSAGES, keepMessagesFrom)) +
    (yield* sweepBefore(writer, SPEND, spentBefore)) +
    (yield* sweepBefore(writer, TALLIES, now - KEEP_TALLIES_MS)) +
    (yield* sweepBefore(writer, BUTTONS, keepFrom)) +
    (yield* sweepPublications(writer, publishedBefore, limit)) +
    (yield* writer.run(unnumbered, [keepFrom])) +
    (yield* sweepBefore(writer, { table: "state", key: "name, key", time: "expires_at" }, storeNow + 1)) +
    (yield* sweepBefore(writer, { table: "notes", key: "kind, key", time: "expires_at" }, storeNow + 1)) +
    (yield* sweepCodes(writer, now, BATCH)) +
    (yield* sweepLooseApprovals(writer, limit))
  );
}

/** A session that is kept knows what it has sent. */
const MESSAGES = { table: "sent_messages", key: "id, channel", time: "sent_at", condition: "session_key IS NULL" };
const TALLIES = { table: "tallies", key: "at, mapping, what", time: "at" };
const KEEP_TALLIES_MS = 8 * DAY_MS;
const BUTTONS = {
  table: "buttons",
  key: "hash",
  time: "drawn_at",
  condition: "NOT EXISTS (SELECT 1 FROM hookline.approvals WHERE id = approval_id AND state = 'open')",
};
const SPEND = { table: "spend", key: "hour, session_key, hook, mapping, model", time: "hour" };

/** Deletes the oldest rows of a table that are of before a time, and that nobody writes at the moment. Gives how many. */
function sweepBefore({ run }: Writer, { table, key, time, condition = "TRUE" }: Aged, before: number): Work<number> {
  return run(
    `DELETE FROM hookline.${table} WHERE (${key}) IN (
       SELECT ${key} FROM hookline.${table} WHERE ${time} < $1 AND ${condition}
       ORDER BY ${time} LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)`,
    [before],
  );
}

interface Aged {
  table: string;
  /** The columns of its key. */
  key: string;
  /** The column that says how old a row is. */
  time: string;
  /** Which rows may go. */
  condition?: string;
}

/** Deletes a batch of keys that have expired or exceed `maxKeys`, except those of unfinished events. Gives how many. */
function* sweepKeys(writer: Writer, { now, maxKeys = Infinity }: Retention): Work<number> {
  const expiresAt = Math.max(now, yield* expiryOfExcess(writer, maxKeys));
  return yield* writer.run(
    `DELETE FROM hookline.idempotency_keys WHERE (scope, key) IN (
       SELECT scope, key FROM hookline.idempotency_keys WHERE expires_at <= $1 AND NOT ${writer.tables.isUnfinishedKey}
       ORDER BY expires_at LIMIT ${BATCH})`,
    [expiresAt],
  );
}

/** When the newest key beyond `maxKeys` expires; 0 if there is none. */
function* expiryOfExcess({ get }: Writer, maxKeys: number): Work<number> {
  if (maxKeys === Infinity) return 0;
  const nth = "SELECT expires_at FROM hookline.idempotency_keys ORDER BY expires_at DESC LIMIT 1 OFFSET $1";
  const row = yield* get(nth, [maxKeys]);
  return row ? integer(row.expires_at) : 0;
}
