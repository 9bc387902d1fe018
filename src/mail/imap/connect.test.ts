import { getEventListeners, once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { inspect } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { CERTIFICATE } from "../../../test/support/certificate.ts";
import { type ImapMailbox, openImapMailbox } from "../../../test/support/imap-mailbox.ts";
import { startImapServer } from "../../../test/support/imap-server.ts";
import { startTokenServer, type TokenServer } from "../../../test/support/token-server.ts";
import { followMail, mailFailureOf } from "../../contracts/mail.ts";
import { MailError } from "../../core/errors.ts";
import { toMailError } from "./connect.ts";
import { createImap } from "./imap.ts";

describe("connect", () => {
  const never = new AbortController().signal;

  describe("over TLS", () => {
    const own = getCACertificates("default");
    const trust = (certificates: string[]): void => setDefaultCACertificates([...own, ...certificates]);
    beforeAll(() => () => trust([]));

    test.each([
      { tls: "implicit", with: [] },
      { tls: "starttls", with: ["STARTTLS"] },
    ] as const)("reads with $tls", async ({ tls, with: extensions }) => {
      trust([CERTIFICATE.cert]);
      const { server, source } = await openImapMailbox(
        { certificate: CERTIFICATE, with: [...extensions] },
        { host: "localhost", tls },
      );
      server.append("INBOX", "Subject: safe\r\n\r\n");
      const { mails } = await followMail(source, ({ mails: { length } }) => length === 1);
      expect(mails[0]?.subject).toBe("safe");
    });

    test.each([
      { tls: "implicit", with: [] },
      { tls: "starttls", with: ["STARTTLS"] },
    ] as const)(
      "sends no password to a server with an untrusted certificate, with $tls",
      async ({ tls, ...options }) => {
        trust([]);
        const { server, source } = await openImapMailbox(
          { certificate: CERTIFICATE, with: [...options.with] },
          { host: "localhost", tls },
        );
        const error = await mailFailureOf(source.check(never));
        expect(error).toMatchObject({ kind: "tls", message: expect.stringContaining("NODE_EXTRA_CA_CERTS") });
        expect(error.message).not.toContain("--use-system-ca");
        expect(server.commands()).not.toContain("LOGIN");
      },
    );

    test("sends no password to a server of another name", async () => {
      trust([CERTIFICATE.cert]);
      const { server, source } = await openImapMailbox({ certificate: CERTIFICATE }, { tls: "implicit" });
      const error = await mailFailureOf(source.check(never));
      expect(error).toMatchObject({
        kind: "tls",
        message: expect.stringMatching(/ has a certificate for localhost, not for 127\.0\.0\.1:/),
      });
      expect(server.commands()).toEqual([]);
    });

    test("sends no password to a server without STARTTLS", async () => {
      const { server, source } = await openImapMailbox({}, { tls: "starttls" });
      const error = await mailFailureOf(source.check(never));
      expect(error).toMatchObject({ kind: "tls", message: expect.stringContaining("offers no STARTTLS") });
      expect(server.commands()).not.toContain("LOGIN");
    });

    test("names a port without TLS", async () => {
      const { source } = await openImapMailbox({}, { tls: "implicit" });
      const error = await mailFailureOf(source.check(never));
      expect(error).toMatchObject({ kind: "tls", message: expect.stringContaining('tls: "starttls"') });
    });
  });

  test("keeps the password out of the error", async () => {
    const server = await startImapServer();
    const password = "a secret that is wrong";
    const { host, port, user } = server;
    const source = createImap({ host, port, tls: "none", user, password, folders: ["INBOX"] });
    const error = await mailFailureOf(source.check(never));
    expect(error.message).toBe(`${host}:${port} refuses the login of ${user}: Login failed: authentication failure`);
    expect(inspect(error, { depth: null, showHidden: true })).not.toContain(password);
    await server.close();
  });

  test("says that nothing listens", async () => {
    const source = createImap({
      host: "127.0.0.1",
      port: 1,
      tls: "implicit",
      user: "ann",
      password: "p",
      folders: ["INBOX"],
    });
    expect(await mailFailureOf(source.check(never))).toMatchObject({
      kind: "network",
      message: "nothing listens at 127.0.0.1:1",
    });
  });

  test("leaves no listener on the signal, whether it logged in or not", async () => {
    const { signal } = new AbortController();
    const { settings, source } = await openImapMailbox();
    await source.check(signal);
    await mailFailureOf(createImap({ ...settings, password: "wrong" }).check(signal));
    await mailFailureOf(createImap({ ...settings, port: 1 }).check(signal));
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  test("stops waiting for a silent server when it is aborted", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const source = createImap({
      host: "127.0.0.1",
      port,
      tls: "none",
      user: "ann",
      password: "p",
      folders: ["INBOX"],
    });
    const abort = new AbortController();
    server.once("connection", () => abort.abort());
    await expect(source.check(abort.signal)).rejects.toBeInstanceOf(Error);
    server.close();
  });

  test("closes its connection when it ends", async () => {
    const { server, source } = await openImapMailbox();
    await source.check(never);
    await followMail(source, () => true);
    await expect.poll(() => server.connectionCount()).toBe(0);
    expect(server.commands().filter((command) => command === "LOGOUT")).toHaveLength(2);
  });

  test("closes the connection without a logout if the server does not answer", async () => {
    const { server, source } = await openImapMailbox();
    await followMail(source, () => {
      server.muteConnections();
      return true;
    });
    await expect.poll(() => server.connectionCount()).toBe(0);
  });
});

describe("login", () => {
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

    test("gets a new token if one is refused before its end", async () => {
      const { source, requests } = await open([
        { access_token: "withdrawn", expires_in: 3600 },
        { access_token: "ya29.access" },
      ]);
      await source.check(never);
      expect(requests).toHaveLength(2);
    });

    test("gives up if the new token is refused too", async () => {
      const { source, requests } = await open([{ access_token: "wrong" }]);
      expect(await mailFailureOf(source.check(never))).toMatchObject({ kind: "login" });
      expect(requests).toHaveLength(2);
    });

    test("does not connect without a token", async () => {
      const { source, server } = await open([{ status: 400, body: { error: "invalid_grant" } }]);
      expect(await mailFailureOf(source.check(never))).toMatchObject({ kind: "login" });
      expect(server.commands()).toEqual([]);
    });
  });

  test("tries a refused login again", async () => {
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
});

const ADDRESS = { host: "mail.example.com", port: 993, tls: "implicit", user: "ann" } as const;
const refusal = { authenticationFailed: true, responseStatus: "NO" };

const toError = (fields: object): MailError =>
  toMailError(Object.assign(new Error("Command failed"), fields), ADDRESS, "INBOX");

describe("a login", () => {
  test.each([
    [{ serverResponseCode: "AUTHENTICATIONFAILED", responseText: "Invalid credentials (Failure)" }],
    [{ serverResponseCode: "AUTHORIZATIONFAILED" }],
    [{ serverResponseCode: "ALERT", responseText: "Application-specific password required" }],
    [{ responseText: "LOGIN failed." }],
  ])("is refused with %j", (fields) => {
    expect(toError({ ...refusal, ...fields })).toMatchObject({ kind: "login" });
  });

  test.each([
    [{ serverResponseCode: "UNAVAILABLE", responseText: "Temporary authentication failure." }],
    [{ serverResponseCode: "INUSE" }],
    [{ serverResponseCode: "LIMIT", responseText: "Too many simultaneous connections." }],
    [{ serverResponseCode: "ALERT", responseText: "Too many simultaneous connections. (Failure)" }],
    [{ responseText: "[SYS/TEMP] Try again later" }],
  ])("fails temporarily with %j", (fields) => {
    expect(toError({ ...refusal, ...fields })).toMatchObject({ kind: "network" });
  });

  test("is not refused if the connection was lost", () => {
    expect(toError({ authenticationFailed: true, code: "NoConnection" })).toMatchObject({ kind: "network" });
  });
});

test.each([
  [{ mailboxMissing: true }, "gone"],
  [{ serverResponseCode: "NONEXISTENT" }, "gone"],
  [{ serverResponseCode: "NOPERM" }, "gone"],
  [{ serverResponseCode: "SERVERBUG" }, "network"],
  [{ code: "ECONNRESET" }, "network"],
])("a folder with %j is %s", (fields, kind) => {
  expect(toError(fields)).toMatchObject({ kind });
});

test.each([
  [{ code: "CERT_HAS_EXPIRED", message: "certificate has expired" }, /not accepted: certificate has expired$/],
  [{ code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE", message: "no; try x" }, /: no; .*NODE_EXTRA_CA_CERTS/],
  [
    { code: "ERR_TLS_CERT_ALTNAME_INVALID", cert: { subjectaltname: "DNS:a.example, DNS:b.example" } },
    /certificate for a\.example, b\.example, not for mail\.example\.com/,
  ],
  [{ code: "ERR_TLS_CERT_ALTNAME_INVALID" }, /certificate for another name, not for mail/],
])("TLS fails with %j", (fields, message) => {
  expect(toError(fields)).toMatchObject({ kind: "tls", message: expect.stringMatching(message) });
});

test.each([
  ["ENOTFOUND", "the host mail.example.com does not exist"],
  ["ECONNREFUSED", "nothing listens at mail.example.com:993"],
])("describes %s", (code, message) => {
  expect(toError({ code })).toMatchObject({ kind: "network", message });
});

test("the message is one short line in the server's own words", () => {
  const { message } = toError({ responseText: `Go\r\naway \u001b[31m${"x".repeat(1000)}` });
  expect(message).toMatch(/^mail\.example\.com:993: Go away \[31mx+$/);
  expect(message.length).toBeLessThan(300);
});

test("a MailError stays as it is", () => {
  const error = new MailError("login", "No.");
  expect(toMailError(error, ADDRESS)).toBe(error);
});
