import { toMailId } from "../message/read-mail.ts";
import type { MailBatch } from "../source.ts";
import type { GmailApi } from "./api.ts";
import type { Position } from "./position.ts";

/** What is known of a mail before it is fetched. */
export interface Look {
  /** Gmail's own id. */
  id: string;
  /** What will be `Mail.id`; undefined where the mail has to be read to tell. */
  mailId: string | undefined;
  threadId: string | undefined;
  /** Ids, not names. */
  labelIds: string[];
  /** When Gmail received it, in milliseconds since the epoch. */
  receivedAt: number;
  /** Bytes, about. */
  size: number;
}

/** Looks at a mail; undefined where it was deleted. */
export async function look(api: GmailApi, id: string, signal: AbortSignal): Promise<Look | undefined> {
  const message = await api.message(id, "metadata", signal);
  if (message === undefined) return undefined;
  const header = message.payload?.headers?.find(({ name }) => name?.toLowerCase() === "message-id");
  return {
    id,
    mailId: toMailId(header?.value ?? undefined),
    threadId: message.threadId ?? undefined,
    labelIds: message.labelIds ?? [],
    receivedAt: Number(message.internalDate) || Date.now(),
    size: message.sizeEstimate ?? 0,
  };
}

/** A batch whose position is not text yet. */
export interface Step extends Omit<MailBatch, "position"> {
  position: Position;
}
