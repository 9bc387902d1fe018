import type { ImapFlow, SearchObject } from "imapflow";
import { connectionLost } from "./connection-lost.ts";

/** The uids of what is found, ascending. Rejects where the connection is lost, or the server refuses. */
export async function search(client: ImapFlow, query: SearchObject): Promise<number[]> {
  const uids = await client.search(query, { uid: true });
  if (Array.isArray(uids)) return uids;
  const isLost = !client.mailbox || client.byeReason !== undefined;
  throw isLost ? connectionLost(client) : new Error("It refuses to search.");
}
