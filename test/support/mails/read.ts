import type { Mail } from "../../../src/core/ports/mail-source.ts";
import { type MailFacts, readMail, type ReadOptions } from "../../../src/mail/message/read-mail.ts";

export const RECEIVED = Date.UTC(2026, 10, 20, 9, 8, 2);

/** Reads a mail with the minimal facts that a source must provide. */
export function read(
  source: string | Buffer,
  options: Partial<ReadOptions> = {},
  facts: Partial<MailFacts> = {},
): Promise<Mail> {
  return readMail(
    Buffer.from(source as string),
    { folder: "INBOX", labels: [], receivedAt: RECEIVED, ...facts },
    { maxBytes: 20_000, authservId: undefined, ...options },
  );
}
