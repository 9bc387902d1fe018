import type { ChannelName, RouteOrigin } from "../../types.ts";
import type { DeliveryFilter, Page } from "../journal.ts";
import type { Delivery, Route } from "../records/delivery.ts";
import { text } from "../rows.ts";
import * as rows from "../rows.ts";
import { type Condition, listPage, ofStates, type Reader, toWhere } from "./reader.ts";

export async function listDeliveries(reader: Reader, page: Page & DeliveryFilter): Promise<Delivery[]> {
  const { state, channel } = page;
  const found = await listPage(reader, "hookline.deliveries", page, [ofStates(state), ["channel =", channel]]);
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
  const sent = `SELECT 1 AS sent FROM hookline.sent_messages
    WHERE recipient = $1 AND channel = $2 AND session_key IS NOT NULL LIMIT 1`;
  return (await get(sent, [to, channel])) !== undefined;
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
