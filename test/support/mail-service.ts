import type { MailSourcesImap, UserConfig, UserConfigMailbox } from "../../src/core/config/schema/generated.ts";
import type { Client } from "./client.ts";
import type { ImapServer } from "./imap-server.ts";
import { withTokens } from "./service.ts";

type Hooks = NonNullable<UserConfig["hooks"]>;

/** A service that watches the INBOX of an IMAP server. Each mail is a run of the echo agent; nothing is delivered. */
export function toMailConfig(
  server: Pick<ImapServer, "host" | "port" | "user" | "password">,
  mailbox: MailboxChange = {},
  hooks: Hooks = {},
): UserConfig {
  return withTokens({
    hooks: {
      presets: [{ use: "mail", with: { deliver: false } }],
      ...hooks,
      mail: toMailbox(server, mailbox),
    },
  });
}

type MailboxChange = Omit<UserConfigMailbox, "source"> & { source?: Partial<MailSourcesImap> };

/** An entry of `hooks.mail`. */
export function toMailbox(
  { host, port, user, password }: Pick<ImapServer, "host" | "port" | "user" | "password">,
  { source, ...mailbox }: MailboxChange = {},
): UserConfigMailbox {
  return { source: { kind: "imap", tls: "none", host, port, user, password, ...source }, ...mailbox };
}

/** A raw mail with this id. */
export function toBytes(id: string, { text = "Hello", from = "Bob <bob@example.org>" } = {}): string {
  const header = [`Message-ID: <${id}>`, `From: ${from}`, "To: ann@example.com", `Subject: Mail ${id}`];
  return [...header, "Content-Type: text/plain; charset=utf-8", "", text, ""].join("\r\n");
}

/** The Message-IDs of all mails that became runs, one for each run: a mail that was run twice appears twice. */
export async function idsOfRuns({ api }: Pick<Client, "api">): Promise<string[]> {
  const ids: string[] = [];
  for (let before = ""; ;) {
    const { runs } = await api(`/api/runs?limit=1000&before=${before}`);
    for (const { sessionKey } of runs) {
      const id = /^hook:mail:([^#]*)/.exec(sessionKey)?.[1];
      if (id !== undefined) ids.push(id);
    }
    if (runs.length < 1000) return ids.toSorted();
    before = runs.at(-1).id;
  }
}

/** The status of the first folder, as the operator sees it. */
export async function folderStatus({ api }: Pick<Client, "api">): Promise<Record<string, unknown>> {
  return (await api("/api/status")).mail[0].folders[0];
}

/** `a-01` … */
export function numbered(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${String(index + 1).padStart(3, "0")}`);
}
