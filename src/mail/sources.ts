import type { DriverDefinition } from "../core/ports/driver.ts";
import { checkGmail, checkImap, type GmailOptions, gmailSchema, type ImapOptions, imapSchema } from "./options.ts";
import type { MailSource } from "../core/ports/mail-source.ts";

/** A valid `hooks.mail.source` of a built-in kind. */
export type MailSourceOptions = { kind: string } & Partial<ImapOptions> & Partial<GmailOptions>;

// The libraries are large: a service without such a mailbox starts without them.
const imap: DriverDefinition<MailSource, ImapOptions> = {
  schema: imapSchema,
  check: checkImap,
  create: async (options, context) => (await import("./imap/imap.ts")).createImap(options, {}, context),
};

const gmail: DriverDefinition<MailSource, GmailOptions> = {
  schema: gmailSchema,
  check: checkGmail,
  create: async (options) => (await import("./gmail/gmail.ts")).createGmail(options),
};

export const mailSources: Record<string, DriverDefinition<MailSource>> = { imap, gmail };
