import type { ImapFlow, SearchObject } from "imapflow";

/** The uids of what is found, ascending. Rejects where the connection is lost, or the server refuses. */
export async function search(client: ImapFlow, query: SearchObject): Promise<number[]> {
  const uids = await client.search(query, { uid: true });
  if (Array.isArray(uids)) return uids;
  throw new Error(client.usable ? "It refuses to search." : (client.byeReason ?? "The connection was lost."));
}
