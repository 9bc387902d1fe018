import type { DriverDefinition } from "../plugin.ts";
import { gmail, type GmailOptions } from "./gmail/options.ts";
import { imap, type ImapOptions } from "./imap/options.ts";
import type { MailSource } from "./source.ts";

/** The built-in mail sources, by kind. */
export const mailSources: Record<string, DriverDefinition<MailSource>> = { imap, gmail };

/** A valid `hooks.mail.source` of a built-in kind. */
export type MailSourceOptions = { kind: string } & Partial<ImapOptions> & Partial<GmailOptions>;
