import type { ChannelName } from "../../types.ts";
import type { DeliveryFilter, Page } from "../journal.ts";
import type { Delivery, Route } from "../records/delivery.ts";
import { integer, text, type Row } from "../rows.ts";
import * as rows from "../rows.ts";
import { listPage, ofStates, type Reader } from "./reader.ts";

export async function listDeliveries(reader: Reader, page: Page & DeliveryFilter): Promise<Delivery[]> {
  const { state, channel } = page;
  const found = await listPage(reader, "hookline.deliveries", page, [ofStates(state), ["channel =", channel]]);
  return found.map((row) => rows.toDelivery(row, reader.clockOffsetMs));
}

export async function countReplies({ get }: Reader, conversation: string, since: number): Promise<number> {
  const row = await get(
    "SELECT count(*) AS replies FROM hookline.deliveries WHERE conversation = $1 AND created_at >= $2",
    [conversation, since],
  );
  return integer(row?.replies ?? 0);
}

export async function wasSent(
  { get }: Reader,
  messageId: string,
  since: number,
  channel?: ChannelName,
): Promise<boolean | undefined> {
  const sent = "SELECT 1 AS sent FROM hookline.sent_messages WHERE id = $1 AND sent_at >= $2";
  const isFound = await (channel === undefined
    ? get(sent, [messageId, since])
    : get(`${sent} AND channel = $3`, [messageId, since, channel]));
  if (isFound) return true;
  return (await get("SELECT 1 AS sending FROM hookline.deliveries WHERE state = 'sending' LIMIT 1"))
    ? undefined
    : false;
}

export async function lastRoute({ get }: Reader, channel?: ChannelName): Promise<Route | undefined> {
  const condition = channel === undefined ? "" : "WHERE channel = $1";
  const values = channel === undefined ? [] : [channel];
  return toRoute(await get(`SELECT * FROM hookline.routes ${condition} ORDER BY seq DESC LIMIT 1`, values));
}

export async function operatorRoute({ get }: Reader): Promise<Route | undefined> {
  return toRoute(await get("SELECT * FROM hookline.routes WHERE chosen_by = 'operator' ORDER BY seq DESC LIMIT 1"));
}

function toRoute(row: Row | undefined): Route | undefined {
  return row && { channel: text(row.channel), to: text(row.recipient) };
}
