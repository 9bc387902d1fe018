import type { Mailbox } from "../config/schema/generated.ts";
import type { ResolvedConfig } from "../config/types.ts";
import type { DriverDefinition } from "../plugin.ts";
import { silentLog } from "../telemetry/log.ts";
import type { MailSource } from "./source.ts";

export { createMailPush } from "./gmail/push.ts";
export { openMailStore } from "./store/open.ts";
export type { ProcessedMail } from "./watch/deliver.ts";
export { createMailPost } from "./watch/post.ts";
export { createMailService } from "./watch/service.ts";
export type { FolderStatus, MailState } from "./watch/status.ts";
export { createMailWatch } from "./watch/watch.ts";

/** Replaced by the driver's own schema once it has one, as src/channels/slack.ts does. */
const schema = { type: "object" } as const;

/** The built-in mail sources, by kind. */
const mailSources: Record<string, DriverDefinition<MailSource>> = {
  imap: {
    schema,
    create: async (source: Omit<Mailbox, "kind">) =>
      (await import("./imap/imap.ts")).createImap({ source: { kind: "imap", ...source } }),
  },
  gmail: {
    schema,
    create: async (source: Omit<Mailbox, "kind">) =>
      (await import("./gmail/gmail.ts")).createGmail({ source: { kind: "gmail", ...source } }),
  },
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
  return mailSources[source.kind]?.create(source, { name: "source", baseDir: process.cwd(), log: silentLog });
}
