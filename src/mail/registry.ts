import type { Mailbox } from "../config/schema/generated.ts";
import type { ResolvedConfig } from "../config/types.ts";
import type { MailSource } from "./source.ts";

type CreateSource = (options: { source: Mailbox }) => MailSource;

/** One line a kind of mailbox. Each brings large libraries: who has no such mailbox starts without them. */
const SOURCES: Record<Mailbox["kind"], () => Promise<CreateSource>> = {
  imap: async () => (await import("./imap/imap.ts")).createImap,
  gmail: async () => (await import("./gmail/gmail.ts")).createGmail,
};

/**
 * The mailbox that `hooks.mail.source` describes; undefined where there is none. `plugged` makes the one that a plugin
 * answers for. Nothing is opened yet.
 */
export async function createMailSource(
  source: Mailbox | undefined,
  plugged?: ResolvedConfig["plugged"]["mailSource"],
): Promise<MailSource | undefined> {
  if (plugged) return plugged();
  if (!source) return undefined;
  const create = await SOURCES[source.kind]();
  return create({ source });
}
