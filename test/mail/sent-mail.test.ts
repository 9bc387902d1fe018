/** Replies from a mailbox with OAuth whose server replaces the refresh token, so that each one works only once. */
import { expect, onTestFinished, test } from "vitest";
import { startImapServer } from "../support/imap-server.ts";
import { startJsonServer } from "../support/json-server.ts";
import { folderStatus, toMailConfig } from "../support/mail-service.ts";
import { type Service, startService } from "../support/service.ts";
import { startSmtp } from "../support/smtp.ts";

test.each([true, false])(
  "a reply is sent with the mailbox's token and kept in Sent, also after a restart; watched: %s",
  async (autoStart) => {
    const imap = await startImapServer({ with: ["XOAUTH2"], folders: { Sent: "\\Sent" } });
    onTestFinished(imap.close);
    const smtp = await startSmtp({ accessTokens: [imap.accessToken] });
    onTestFinished(smtp.close);
    let valid = "refresh-0";
    let count = 0;
    const tokens = await startJsonServer(({ body }) => {
      if (body["refresh_token"] !== valid) return { status: 400, body: { error: "invalid_grant" } };
      valid = `refresh-${++count}`;
      return { status: 200, body: { access_token: imap.accessToken, refresh_token: valid, expires_in: 3600 } };
    });
    onTestFinished(tokens.close);

    const oauth = { tokenUrl: `${tokens.url}token`, clientId: "hookline", refreshToken: "refresh-0" };
    const { hooks, ...config } = toMailConfig(imap, { autoStart, source: { password: undefined, oauth } });
    const mapping = {
      match: { path: "report" },
      agent: "none",
      messageTemplate: "{{text}}",
      channel: "email",
    } as const;
    let service = await startService({
      config: {
        ...config,
        hooks: { ...hooks, mappings: [{ ...mapping, to: smtp.recipient }] },
        channels: {
          email: { host: smtp.host, port: smtp.port, tls: "none", from: "ann@example.com", mailbox: "imap" },
        },
      },
    });
    onTestFinished(() => service.close());
    if (autoStart) await expect.poll(() => folderStatus(service)).toMatchObject({ state: "watching" });
    await send(service, "One.");
    service = await service.restart();
    await send(service, "Two.");
    await service.hookline.reload();
    await send(service, "Three.");

    expect((await smtp.mails()).map(({ text }) => text?.trim())).toEqual(["One.", "Two.", "Three."]);
    expect(smtp.tokens()).toHaveLength(3);
    expect(imap.mails("Sent")).toEqual(smtp.raw());
    expect(count).toBe(2);
  },
);

async function send(service: Service, text: string): Promise<void> {
  const { body } = await service.post("report", { text });
  const { deliveries } = await service.settled(body.eventId);
  expect(deliveries).toMatchObject([{ state: "sent" }]);
}
