import { onTestFinished } from "vitest";
import { createImap, type Timing } from "../../src/mail/imap/imap.ts";
import type { ImapOptions } from "../../src/mail/options.ts";
import type { MailSource } from "../../src/core/ports/mail-source.ts";
import { type ImapServer, type ImapServerOptions, startImapServer } from "./imap-server.ts";

export interface ImapMailbox {
  server: ImapServer;
  settings: ImapOptions;
  source: MailSource;
}

/** A mailbox on a new server, and a source for it. Closed after the test. */
export async function openImapMailbox(
  options: ImapServerOptions = {},
  { timing, ...settings }: Partial<ImapOptions> & { timing?: Partial<Timing> } = {},
): Promise<ImapMailbox> {
  const server = await startImapServer(options);
  onTestFinished(() => server.close());
  const { host, port, user, password } = server;
  const mailbox: ImapOptions = { host, port, tls: "none", user, password, folders: ["INBOX"], ...settings };
  return { server, settings: mailbox, source: createImap(mailbox, timing) };
}
