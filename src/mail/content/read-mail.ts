import type { Mail, MailAttachment } from "../port.ts";

/** What a source knows of a mail beside its text. */
export interface MailFacts {
  folder: string;
  /** Keywords or labels by their names. */
  labels: string[];
  /** When the server received it, in milliseconds since the epoch. */
  receivedAt: number;
  /** The provider's own thread, where it has one. */
  threadId?: string;
  /** Where the source does not hold them: what is attached. */
  attachments?: MailAttachment[];
}

export interface ReadOptions {
  maxBytes: number;
  authservId: string | undefined;
}

/**
 * Reads a mail from its bytes as they travel (RFC 5322), or as many of them as there are. Never rejects: of a broken mail it
 * gives what can be understood.
 */
export async function readMail(source: Uint8Array, facts: MailFacts, options: ReadOptions): Promise<Mail> {
  throw new Error("not written yet", { cause: { source, facts, options } });
}
