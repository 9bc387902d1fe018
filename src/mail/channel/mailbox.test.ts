/** Mails that are sent from a mailbox of `hooks.mail`: its login, and its folder of sent mail. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type ImapMailbox, openImapMailbox } from "../../../test/support/imap-mailbox.ts";
import { type SmtpOptions, type SmtpServer, startSmtp } from "../../../test/support/smtp.ts";
import { startTokenServer } from "../../../test/support/token-server.ts";
import { failureOf } from "../../contracts/harness.ts";
import { createImap } from "../imap/imap.ts";
import type { ImapOptions } from "../options.ts";
import { createRefreshTokens } from "../store.ts";
import type { ChannelDriver } from "../../core/ports/channel.ts";
import { createEmail } from "./email.ts";

const never = new AbortController().signal;
const message = {
  to: "ada@example.com",
  subject: "The report",
  references: ["<first@x>", "<last@x>"],
  text: "Done.",
  idempotencyKey: "d:0",
};
const ACCESS_TOKEN = "ya29.access";

interface Setup {
  settings?: Partial<ImapOptions>;
  smtp?: SmtpOptions;
  folders?: Record<string, string>;
  sentCopy?: "auto" | "off";
}

interface Opened extends ImapMailbox {
  smtp: SmtpServer;
  channel: ChannelDriver;
  sent(): string[];
}

async function open({
  settings,
  smtp: options,
  folders = { Sent: "\\Sent" },
  sentCopy = "auto",
}: Setup = {}): Promise<Opened> {
  const mailbox = await openImapMailbox({ with: ["XOAUTH2"], folders }, settings);
  const smtp = await startSmtp(options);
  onTestFinished(() => smtp.close());
  const { host, port } = smtp;
  const channel = createEmail(
    { host, port, tls: "none", from: "agent@example.org", mailbox: "support", sentCopy },
    { mailAccount: (name) => (name === "support" ? mailbox.source.account : undefined) },
  );
  return { ...mailbox, smtp, channel, sent: () => mailbox.server.mails("Sent") };
}

/** A mailbox with OAuth whose tokens are these, the last one again and again. */
async function openWithTokens(tokens: (object | string)[], smtp: SmtpOptions, setup: Setup = {}) {
  const answers = tokens.map((token) =>
    typeof token === "string" ? { access_token: token, expires_in: 3600 } : token,
  );
  const tokenServer = await startTokenServer(...answers);
  const oauth = { clientId: "hookline", refreshToken: "refresh-1", tokenUrl: tokenServer.tokenUrl };
  return { ...tokenServer, ...(await open({ ...setup, settings: { password: undefined, oauth }, smtp })) };
}

test("the mailbox and the channel share an access token", async () => {
  const { channel, source, smtp, requests } = await openWithTokens([ACCESS_TOKEN], { accessTokens: [ACCESS_TOKEN] });
  await source.check(never);
  await channel.send(message, never);
  expect(smtp.tokens()).toEqual([ACCESS_TOKEN]);
  expect(smtp.raw()).toHaveLength(1);
  expect(requests).toHaveLength(1);
});

test("a token that was revoked early is replaced once", async () => {
  const { channel, smtp, requests } = await openWithTokens(["revoked", ACCESS_TOKEN], { accessTokens: [ACCESS_TOKEN] });
  await channel.send(message, never);
  expect(smtp.tokens()).toEqual(["revoked", ACCESS_TOKEN]);
  expect(requests).toHaveLength(2);
});

test("a mailbox for which Microsoft has SMTP turned off is a permanent error that says what to do", async () => {
  const refuseLogin = "5.7.139 Authentication unsuccessful, SmtpClientAuthentication is disabled for the Mailbox.";
  const { channel } = await openWithTokens([ACCESS_TOKEN], { refuseLogin });
  const error = await failureOf(channel.send(message, never));
  expect(error).toMatchObject({ retryable: false, message: expect.stringMatching(/SMTP AUTH.*SMTP\.Send/) });
  expect(error.message).not.toContain(ACCESS_TOKEN);
});

test("a refresh token that the server refuses is a permanent error, one that it cannot check a retryable one", async () => {
  const refused = await openWithTokens([{ status: 400, body: { error: "invalid_grant" } }], {});
  expect(await failureOf(refused.channel.send(message, never))).toMatchObject({ retryable: false });
  const away = await openWithTokens([{ status: 503, body: {} }], {});
  expect(await failureOf(away.channel.send(message, never))).toMatchObject({ retryable: true });
});

test("a refresh token that the server replaces is stored, and used after a restart", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-mail-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const { tokenUrl, requests } = await startTokenServer({ access_token: "a", refresh_token: "refresh-2" });
  const oauth = { clientId: "hookline", refreshToken: "refresh-1", tokenUrl };
  for (const _ of ["before", "after"]) {
    const options: ImapOptions = { host: "mail.test", tls: "implicit", user: "u", oauth, folders: ["INBOX"] };
    const { account } = createImap(
      options,
      {},
      { refreshTokens: (mailbox) => createRefreshTokens({ folder, mailbox }) },
    );
    expect(await account?.credential(never)).toEqual({ accessToken: "a" });
  }
  expect(requests.map((request) => request["refresh_token"])).toEqual(["refresh-1", "refresh-2"]);
});

const accepted = { accessTokens: [ACCESS_TOKEN] };

test("a mail is in the folder of sent mail as it was sent, once", async () => {
  const { channel, smtp, sent } = await openWithTokens([ACCESS_TOKEN], accepted);
  smtp.inject({ kind: "answer", status: 451 });
  await failureOf(channel.send(message, never));
  expect(sent()).toEqual([]);
  smtp.inject(undefined);
  await channel.send({ ...message, text: "Dönë." }, never);
  await channel.send({ ...message, text: "Dönë." }, never);
  expect(smtp.raw()).toHaveLength(2);
  expect(sent()).toEqual([smtp.raw()[0]]);
});

test("an attempt after a crash looks there before it sends again", async () => {
  const { channel, smtp, sent } = await openWithTokens([ACCESS_TOKEN], accepted);
  const first = await channel.send(message, never);
  expect(await channel.send({ ...message, mayBeSent: true }, never)).toEqual(first);
  expect(smtp.raw()).toHaveLength(1);
  await channel.send({ ...message, idempotencyKey: "d:1", mayBeSent: true }, never);
  expect(smtp.raw()).toHaveLength(2);
  expect(sent()).toHaveLength(2);
});

test("while the mailbox cannot be reached, such an attempt waits, and other mails go out without a copy", async () => {
  const { channel, smtp, server } = await openWithTokens([ACCESS_TOKEN], accepted);
  await server.close();
  expect(await failureOf(channel.send({ ...message, mayBeSent: true }, never))).toMatchObject({ retryable: true });
  await channel.send(message, never);
  expect(smtp.raw()).toHaveLength(1);
});

test("without a folder of sent mail, or without a wish for copies, there is none", async () => {
  const without = await openWithTokens([ACCESS_TOKEN], accepted, { folders: {} });
  await without.channel.send({ ...message, mayBeSent: true }, never);
  expect(without.smtp.raw()).toHaveLength(1);
  const off = await openWithTokens([ACCESS_TOKEN], accepted, { sentCopy: "off" });
  await off.channel.send(message, never);
  expect([off.smtp.raw().length, off.sent().length]).toEqual([1, 0]);
});

test("a mailbox that is not there is refused at load", () => {
  const options = { host: "mail.test", tls: "implicit", from: "a@x.test", mailbox: "other", sentCopy: "auto" } as const;
  expect(() => createEmail(options, { mailAccount: () => undefined })).toThrow(/no mailbox with the name "other"/);
});

test.each([
  ["imap.gmail.com", true],
  ["outlook.office365.com", true],
  ["imap.example.com", false],
  ["notgmail.com", false],
])("%s keeps what is sent by itself: %s", (host, expected) => {
  const options: ImapOptions = { host, tls: "implicit", user: "u", password: "p", folders: ["INBOX"] };
  expect(createImap(options).account?.keepsSent).toBe(expected);
});
