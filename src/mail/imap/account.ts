import type { ImapFlow } from "imapflow";
import type { AccessTokens } from "../oauth.ts";
import type { MailAccount, RefreshTokens } from "../../core/ports/mail-source.ts";
import { disconnect, type ImapServer, type Login, search, toMailError } from "./connect.ts";

/** Their SMTP servers put each mail into the folder of sent mail. */
const KEEPS_SENT = /(?:^|\.)(?:gmail|googlemail|office365|outlook)\.com$/i;

interface AccountLogin {
  password: string | undefined;
  /** Instead of a password. */
  tokens: AccessTokens | undefined;
  logIn: Login;
  refreshTokens: RefreshTokens | undefined;
}

/** The account of a mailbox: its login, which is shared with the connections that read, and its folder of sent mail. */
export function createAccount(
  server: ImapServer,
  { password = "", tokens, logIn, refreshTokens }: AccountLogin,
): MailAccount {
  return {
    user: server.user,
    keepsSent: KEEPS_SENT.test(server.host),
    credential: async (signal) => (tokens ? { accessToken: await tokens.get(signal, refreshTokens) } : { password }),
    forget: (accessToken) => tokens?.forget(accessToken),
    hasSent: (messageId, signal) =>
      withSent(signal, async (client, folder) => folder !== undefined && (await isThere(client, folder, messageId))),
    keepSent: ({ messageId, raw }, signal) =>
      withSent(signal, async (client, folder) => {
        if (folder === undefined) throw new Error("the mailbox has no folder of sent mail");
        if (await isThere(client, folder, messageId)) return;
        const kept = await client.append(folder, Buffer.from(raw), ["\\Seen"]);
        if (!kept) throw new Error(`the folder ${folder} does not take a mail`);
      }),
  };

  /** `folder`: that of sent mail, if the mailbox has one. */
  async function withSent<Result>(
    signal: AbortSignal,
    work: (client: ImapFlow, folder: string | undefined) => Promise<Result>,
  ): Promise<Result> {
    const client = await logIn(signal, refreshTokens);
    try {
      const listed = await client.list();
      return await work(client, listed.find(({ specialUse }) => specialUse === "\\Sent")?.path);
    } catch (error) {
      throw toMailError(error, server);
    } finally {
      await disconnect(client);
    }
  }
}

async function isThere(client: ImapFlow, folder: string, messageId: string): Promise<boolean> {
  await client.mailboxOpen(folder, { readOnly: true });
  return (await search(client, { header: { "message-id": `<${messageId}>` } })).length > 0;
}
