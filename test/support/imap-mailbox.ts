import { onTestFinished } from "vitest";
import type { Mailbox } from "../../src/config/schema/generated.ts";
import type { Timing } from "../../src/mail/imap/follow.ts";
import { createImap } from "../../src/mail/imap/imap.ts";
import type { MailSource } from "../../src/mail/source.ts";
import { type ImapServer, type ImapServerOptions, startImapServer } from "./imap-server.ts";

export interface ImapMailbox {
  server: ImapServer;
  settings: Mailbox;
  source: MailSource;
}

/** A mailbox on a new server, and a source for it. Closed after the test. */
export async function openImapMailbox(
  options: ImapServerOptions = {},
  { timing, ...settings }: Partial<Mailbox> & { timing?: Partial<Timing> } = {},
): Promise<ImapMailbox> {
  const server = await startImapServer(options);
  onTestFinished(() => server.close());
  const { host, port, user, password } = server;
  const source: Mailbox = { kind: "imap", host, port, tls: "none", user, password, ...settings };
  return { server, settings: source, source: createImap({ source, timing }) };
}
