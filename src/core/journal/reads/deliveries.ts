import type { ChannelName, KeptChange, RouteOrigin } from "../../types.ts";
import type { DeliveryFilter, Page } from "../journal.ts";
import type { Delivery, Route, SentMessage, SessionThread } from "../records/delivery.ts";
import { text } from "../columns.ts";
import * as rows from "../rows.ts";
import { type Condition, listPage, ofStates, type Reader, toWhere } from "./reader.ts";

export async function listDeliveries(reader: Reader, page: Page & DeliveryFilter): Promise<Delivery[]> {
  const { state, channel, group } = page;
  const found = await listPage(reader, "hookline.deliveries", page, [
    ofStates(state),
    ["channel =", channel],
    ["error_group =", group],
  ]);
  return found.map((row) => rows.toDelivery(row, reader.clockOffsetMs));
}

export async function listAnswers(
  { all }: Reader,
  channel: ChannelName,
  addressee: string,
  since: number,
): Promise<string[]> {
  const answers = await all(
    "SELECT DISTINCT run_id FROM hookline.deliveries WHERE channel = $1 AND addressee = $2 AND created_at >= $3",
    [channel, addressee, since],
  );
  return answers.map((row) => text(row.run_id));
}

export async function wasSent(
  { get }: Reader,
  messageId: string,
  since: number,
  channel?: ChannelName,
): Promise<boolean | undefined> {
  const { where, values } = toWhere([
    ["id =", messageId],
    ["sent_at >=", since],
    ["channel =", channel],
  ]);
  if (await get(`SELECT 1 AS sent FROM hookline.sent_messages ${where}`, values)) return true;
  return (await get("SELECT 1 AS sending FROM hookline.deliveries WHERE state = 'sending' LIMIT 1"))
    ? undefined
    : false;
}

export async function hasSpoken({ get }: Reader, channel: ChannelName, to: string): Promise<boolean> {
  for (const place of ["recipient", "thread"]) {
    const sent = `SELECT 1 AS sent FROM hookline.sent_messages
      WHERE ${place} = $1 AND channel = $2 AND session_key IS NOT NULL LIMIT 1`;
    if (await get(sent, [to, channel])) return true;
  }
  return false;
}

export async function findSent(
  { get }: Reader,
  channel: ChannelName,
  messageId: string,
): Promise<SentMessage | undefined> {
  const sent = `SELECT recipient, session_key FROM hookline.sent_messages
    WHERE id = $1 AND channel = $2 AND session_key IS NOT NULL`;
  const row = await get(sent, [messageId, channel]);
  return row && { sessionKey: text(row.session_key), to: text(row.recipient) };
}

export async function findThread(
  { get }: Reader,
  sessionKey: string,
  channel: ChannelName,
  to: string,
): Promise<string | undefined> {
  const newest = `SELECT thread FROM hookline.sent_messages
    WHERE session_key = $1 AND channel = $2 AND recipient = $3 AND thread IS NOT NULL
    ORDER BY sent_at DESC LIMIT 1`;
  const row = await get(newest, [sessionKey, channel, to]);
  return row && text(row.thread);
}

/** The thread that the session's replies to a recipient go into, of each recipient. */
export async function listThreads({ all }: Reader, sessionKey: string): Promise<SessionThread[]> {
  const found = await all(
    `SELECT channel, recipient, thread, max(sent_at) AS last FROM hookline.sent_messages
     WHERE session_key = $1 AND thread IS NOT NULL GROUP BY channel, recipient, thread ORDER BY last`,
    [sessionKey],
  );
  const threads = found.map((row) => ({
    channel: text(row.channel),
    to: text(row.recipient),
    thread: text(row.thread),
  }));
  return [...new Map(threads.map((one) => [`${one.channel} ${one.to}`, one])).values()];
}

export async function findChange(
  { get }: Reader,
  channel: ChannelName,
  keys: string[],
): Promise<KeptChange | undefined> {
  // The key of a commit is that of the change as it was then.
  const newest = `SELECT change FROM hookline.sent_messages
    WHERE change IS NOT NULL AND session_key = (SELECT session_key FROM hookline.sent_messages
      WHERE channel = $1 AND id = ANY($2::text[]) AND change IS NOT NULL AND session_key IS NOT NULL ORDER BY sent_at DESC LIMIT 1)
    ORDER BY sent_at DESC LIMIT 1`;
  const row = await get(newest, [channel, keys]);
  return row && rows.toChange(row);
}

export async function lastRoute(reader: Reader, channel?: ChannelName): Promise<Route | undefined> {
  return newestRoute(reader, ["channel =", channel]);
}

export async function operatorRoute(reader: Reader): Promise<Route | undefined> {
  return newestRoute(reader, ["chosen_by =", "operator" satisfies RouteOrigin]);
}

async function newestRoute({ get }: Reader, condition: Condition): Promise<Route | undefined> {
  const { where, values } = toWhere([condition]);
  const row = await get(`SELECT * FROM hookline.routes ${where} ORDER BY seq DESC LIMIT 1`, values);
  return row && { channel: text(row.channel), to: text(row.recipient) };
}

export async function findEffects(
  { all }: Reader,
  { events, runs }: { events: string[]; runs: string[] },
): Promise<{ events: Set<string>; runs: Set<string> }> {
  const sent = await all(
    "SELECT DISTINCT event_id AS id FROM hookline.deliveries WHERE event_id = ANY($1::uuid[]) AND parts_sent > 0",
    [events],
  );
  // A call has an id of its own if it changes something.
  const called = await all(
    `SELECT DISTINCT run_id AS id FROM hookline.steps WHERE run_id = ANY($1::uuid[])
       AND state IN ('started', 'done', 'unknown') AND detail LIKE '%"callId"%'`,
    [runs],
  );
  const idsOf = (found: typeof sent): Set<string> => new Set(found.map((row) => text(row.id)));
  return { events: idsOf(sent), runs: idsOf(called) };
}
