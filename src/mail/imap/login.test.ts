import { describe, expect, test } from "vitest";
import { followMail } from "../../contracts/follow-mail.ts";
import { mailFailureOf } from "../../contracts/mail-failure-of.ts";
import { openImapMailbox, type ImapMailbox } from "../../../test/support/imap-mailbox.ts";
import { startTokenServer, type TokenServer } from "../../../test/support/token-server.ts";

const never = new AbortController().signal;

describe("with OAuth 2", () => {
  test("logs in with an access token", async () => {
    const { source, server } = await open([{ access_token: "ya29.access" }]);
    server.append("INBOX", "Subject: Hello\r\n\r\n");
    const { mails } = await followMail(source, ({ mails: { length } }) => length === 1);
    expect(mails[0]?.subject).toBe("Hello");
    expect(server.commands()).toContain("AUTHENTICATE XOAUTH2");
    expect(server.commands()).not.toContain("LOGIN");
  });

  test("gets a new token where one is refused before its time", async () => {
    const { source, requests } = await open([
      { access_token: "withdrawn", expires_in: 3600 },
      { access_token: "ya29.access" },
    ]);
    await source.check(never);
    expect(requests).toHaveLength(2);
  });

  test("gives up where a new one is refused, too", async () => {
    const { source, requests } = await open([{ access_token: "wrong" }]);
    expect(await mailFailureOf(source.check(never))).toMatchObject({ kind: "login" });
    expect(requests).toHaveLength(2);
  });

  test("does not go to the server without a token", async () => {
    const { source, server } = await open([{ status: 400, body: { error: "invalid_grant" } }]);
    expect(await mailFailureOf(source.check(never))).toMatchObject({ kind: "login" });
    expect(server.commands()).toEqual([]);
  });
});

test("a login that was refused is accepted later", async () => {
  const { source, server } = await openImapMailbox();
  server.refuseLogins(true);
  expect(await mailFailureOf(followMail(source, () => true))).toMatchObject({ kind: "login" });
  server.refuseLogins(false);
  await followMail(source, () => true);
});

async function open(answers: object[]): Promise<ImapMailbox & TokenServer> {
  const tokens = await startTokenServer(...answers);
  const oauth = { clientId: "hookline", refreshToken: "refresh", tokenUrl: tokens.tokenUrl };
  return { ...tokens, ...(await openImapMailbox({ with: ["XOAUTH2"] }, { password: undefined, oauth })) };
}
