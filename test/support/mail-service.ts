import type { MailSourcesImap, UserConfig } from "../../src/config/schema/generated.ts";
import type { Client } from "./client.ts";
import type { ImapServer } from "./imap-server.ts";
import { withTokens } from "./service.ts";

type Hooks = NonNullable<UserConfig["hooks"]>;
type MailConfig = NonNullable<Hooks["mail"]>;

/** A service that watches the INBOX of an IMAP server. Each mail is a run of the echo agent; nothing is delivered. */
export function toMailConfig(
  server: Pick<ImapServer, "host" | "port" | "user" | "password">,
  { source, ...mail }: Omit<MailConfig, "source"> & { source?: Partial<MailSourcesImap> } = {},
  hooks: Hooks = {},
): UserConfig {
  const { host, port, user, password } = server;
  return withTokens({
    hooks: {
      presets: [{ use: "mail", with: { deliver: false } }],
      ...hooks,
      mail: { source: { kind: "imap", tls: "none", host, port, user, password, ...source }, ...mail },
    },
  });
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
  return (await api("/api/status")).mail.folders[0];
}

/** `a-01` … */
export function numbered(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${String(index + 1).padStart(3, "0")}`);
}
