import { MAIN_SESSION } from "../../types.ts";
import type { Entry, SessionSummary, Turn } from "../records/session.ts";
import { integer, optional, text } from "../columns.ts";
import * as rows from "../rows.ts";
import type { Reader } from "./reader.ts";

/** The one with the newest entry first. */
export async function listSessions({ all, tables }: Reader, { limit }: { limit: number }): Promise<SessionSummary[]> {
  const newest = `SELECT event_id FROM ${tables.entries} WHERE session_key = sessions.key ORDER BY seq DESC LIMIT 1`;
  const sql = `SELECT sessions.*, (${newest}) AS event_id FROM hookline.sessions ORDER BY updated_at DESC LIMIT $1`;
  const found = await all(sql, [limit]);
  return found.map((row) => ({ ...rows.toSession(row), eventId: optional(text, row.event_id) }));
}

export async function getSession(
  { get, all, tables }: Reader,
  key: string,
  { limit, after = 0, before }: { limit: number; after?: number; before?: number },
): Promise<{ session: SessionSummary; entries: Entry[] } | undefined> {
  const session =
    (await get("SELECT * FROM hookline.sessions WHERE key = $1", [key])) ?? (await get(tables.emptySession, [key]));
  if (!session) return undefined;
  const [cursor, order] = before === undefined ? ["seq > $2", "seq"] : ["seq < $2", "seq DESC"];
  const sql = `SELECT * FROM ${tables.entries} WHERE session_key = $1 AND ${cursor} ORDER BY ${order} LIMIT $3`;
  const entries = (await all(sql, [key, before ?? after, limit])).map(rows.toEntry);
  return { session: rows.toSession(session), entries: before === undefined ? entries : entries.toReversed() };
}

export async function history({ all, tables }: Reader, sessionKey: string, limit: number): Promise<Turn[]> {
  const isMain = sessionKey === MAIN_SESSION;
  const [from, key] = isMain ? [tables.mainTurns, `'${MAIN_SESSION}'`] : ["hookline.entries", "$2"];
  const newestFirst = await all(
    `SELECT role, text, boundary, sources, at FROM ${from} WHERE session_key = ${key} AND role <> 'system'
     ORDER BY seq DESC LIMIT +$1::int`,
    isMain ? [limit] : [limit, sessionKey],
  );
  return newestFirst.toReversed().map(rows.toTurn);
}

/** The time of the first turn of a session after its last pause of this length. A slow answer is no pause. */
export async function sessionStart(
  { get, tables }: Reader,
  sessionKey: string,
  idleAfterMs: number,
): Promise<number | undefined> {
  const isMain = sessionKey === MAIN_SESSION;
  const [from, key] = isMain ? [tables.mainTurns, `'${MAIN_SESSION}'`] : ["hookline.entries", "$2"];
  const row = await get(
    `SELECT at FROM (
       SELECT at, role, seq, lag(at) OVER (ORDER BY seq) AS before FROM ${from}
       WHERE session_key = ${key} AND role <> 'system') AS turns
     WHERE before IS NULL OR (role <> 'assistant' AND at - before >= +$1::bigint) ORDER BY seq DESC LIMIT 1`,
    isMain ? [idleAfterMs] : [idleAfterMs, sessionKey],
  );
  return row && integer(row.at);
}

export async function listPendingSystemEvents({ all, tables }: Reader, limit = MAX_INTEGER): Promise<Entry[]> {
  const sql = `SELECT * FROM ${tables.entries} WHERE pending = 1 ORDER BY seq LIMIT +$1::int`;
  return (await all(sql, [limit])).map(rows.toEntry);
}

const MAX_INTEGER = 2 ** 31 - 1;
