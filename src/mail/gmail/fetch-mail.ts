import { assembleMail } from "../content/assemble-mail.ts";
import { type MailFacts, type ReadOptions, readMail } from "../content/read-mail.ts";
import type { ReceivedMail } from "../port.ts";
import type { GmailApi } from "./gmail-api.ts";
import type { Look } from "./look.ts";
import { splitPayload } from "./split-payload.ts";

/** Up to this many bytes a mail is fetched as it travelled; of a larger one the texts alone. */
const MOST_RAW_BYTES = 1_000_000;

export interface FetchOptions extends ReadOptions {
  /** The names of labels by their ids. */
  labelNames: Map<string, string>;
  signal: AbortSignal;
}

/** Fetches and reads a mail that was looked at; undefined where it was deleted since. */
export async function fetchMail(
  api: GmailApi,
  looked: Look,
  options: FetchOptions,
): Promise<ReceivedMail | undefined> {
  const { labelIds, receivedAt, threadId } = looked;
  const source = await fetchSource(api, looked, options.signal);
  if (source === undefined) return undefined;
  const labels = labelIds.map((id) => options.labelNames.get(id) ?? id);
  const facts: MailFacts = { folder: "", labels, receivedAt, threadId, attachments: source.attachments };
  return {
    mail: await readMail(source.bytes, facts, options),
    marks: {
      spam: labelIds.includes("SPAM"),
      trash: labelIds.includes("TRASH"),
      draft: labelIds.includes("DRAFT"),
    },
  };
}

async function fetchSource(
  api: GmailApi,
  { id, size }: Look,
  signal: AbortSignal,
): Promise<{ bytes: Uint8Array; attachments?: MailFacts["attachments"] } | undefined> {
  const message = await api.message(id, size <= MOST_RAW_BYTES ? "raw" : "full", signal);
  if (message === undefined) return undefined;
  if (message.raw) return { bytes: Buffer.from(message.raw, "base64url") };
  const { header, texts, attachments } = splitPayload(message.payload ?? {});
  return { bytes: assembleMail(header, texts), attachments };
}
