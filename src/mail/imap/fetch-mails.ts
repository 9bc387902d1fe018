import type { FetchMessageObject, FetchQueryObject, ImapFlow } from "imapflow";
import { connectionLost } from "./connection-lost.ts";
import { toRange } from "./to-range.ts";

/**
 * What a server answers for these mails, among it news that nobody asked for. Rejects where the connection is lost: the library
 * then gives nothing at all, which would pass for mails that are gone.
 */
export async function* fetchMails(
  client: ImapFlow,
  uids: number[],
  query: FetchQueryObject,
): AsyncGenerator<FetchMessageObject> {
  yield* client.fetch(toRange(uids), query, { uid: true });
  if (!client.mailbox) throw connectionLost(client);
}
