import type { Mailbox } from "../config/generated.ts";
import type { ResolvedConfig } from "../config/resolved.ts";
import { createGmail } from "./gmail/gmail.ts";
import { createImap } from "./imap/imap.ts";
import type { MailSource } from "./port.ts";

/** One line a kind of mailbox. */
const SOURCES: Record<Mailbox["kind"], (options: { source: Mailbox }) => MailSource> = {
  imap: createImap,
  gmail: createGmail,
};

/**
 * The mailbox that `hooks.mail.source` describes; undefined where there is none. `plugged` makes the one that a plugin
 * answers for. Nothing is opened yet.
 */
export function createMailSource(
  source: Mailbox | undefined,
  plugged?: ResolvedConfig["plugged"]["mailSource"],
): MailSource | undefined {
  if (plugged) return plugged();
  return source && SOURCES[source.kind]({ source });
}
