import type { ImapFlow, SearchObject } from "imapflow";

/** The uids of what is found, ascending. Rejects where the server does not answer, or refuses. */
export async function search(client: ImapFlow, query: SearchObject): Promise<number[]> {
  const uids = await client.search(query, { uid: true });
  if (!Array.isArray(uids)) throw new Error("The server did not answer a SEARCH.");
  return uids;
}
