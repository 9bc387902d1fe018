import type { DriverDefinition } from "../plugin.ts";
import { gmail } from "./gmail/options.ts";
import { imap } from "./imap/options.ts";
import type { MailSource } from "./source.ts";

/** The built-in mail sources, by kind. */
export const mailSources: Record<string, DriverDefinition<MailSource>> = { imap, gmail };
