import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { inspect } from "node:util";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { CERTIFICATE } from "../../../test/support/certificate.ts";
import { type SmtpOptions, type SmtpServer, startSmtp } from "../../../test/support/smtp.ts";
import { describeRemoteChannel, type RemoteChannelUnderTest } from "../../contracts/channel.ts";
import { failureOf } from "../../contracts/harness.ts";
import type { ChannelDriver, OutgoingMessage } from "../../core/ports/channel.ts";
import { createEmail, email } from "./email.ts";

describeRemoteChannel({ describe, test }, "email", open);

const never = new AbortController().signal;
const from = "agent@example.org";
const sender = { from, sentCopy: "auto" } as const;
const references = ["<first@x>", "<last@x>"];
const answer = { to: "ada@example.com", subject: "The report", references, text: "**Done**", idempotencyKey: "d:0" };

let server: SmtpServer;
afterEach(() => server?.close());

const certificates = getCACertificates();
afterAll(() => setDefaultCACertificates(certificates));

async function start(options: SmtpOptions & { user?: string; password?: string } = {}): Promise<ChannelDriver> {
  const { tls = "none", ...login } = options;
  server = await startSmtp({ tls });
  return createEmail({ ...server, ...sender, tls, fromName: "Agent", ...login });
}

test("an answer is in the thread, says that a program wrote it, and quotes nothing", async () => {
  const channel = await start();
  const sent = await channel.send({ ...answer, format: "markdown" }, never);
  const [mail] = await server.mails();
  expect(mail).toMatchObject({
    from: { name: "Agent", address: from },
    to: [{ address: "ada@example.com" }],
    subject: "Re: The report",
    inReplyTo: "<last@x>",
    references: "<first@x> <last@x>",
    messageId: `<${sent.messageId}>`,
    text: "**Done**\n",
    html: expect.stringContaining("<p><strong>Done</strong></p>"),
  });
  const headers = Object.fromEntries(mail?.headers.map(({ key, value }) => [key, value]) ?? []);
  expect(headers).toMatchObject({ "auto-submitted": "auto-replied", "x-auto-response-suppress": "All" });
});

test("an answer names all mails before it whose ids have no blanks", async () => {
  const channel = await start();
  const ids = ["<first@x>", `<${"m".repeat(900)}@x>`, "<third@x>", "<gmail>", '<[1]/a:b;c="@[10.0.0.1]>', "<l@x@y>"];
  await channel.send({ ...answer, references: [...ids.slice(0, 3), "<no", "id>", "none", ...ids.slice(3)] }, never);
  await channel.send({ ...answer, idempotencyKey: "d:1", references: ["none"] }, never);
  const [mail, other] = await server.mails();
  expect([mail?.references, mail?.inReplyTo]).toEqual([ids.join(" "), ids.at(-1)]);
  expect([other?.references, other?.inReplyTo, other?.subject]).toEqual([undefined, undefined, "Re: The report"]);
});

test("a repeat has the same Message-ID, and another mail another one", async () => {
  const channel = await start();
  for (const idempotencyKey of ["d:0", "d:0", "d:1"]) await channel.send({ ...answer, idempotencyKey }, never);
  const [first, repeat, other] = (await server.mails()).map(({ messageId }) => messageId);
  expect(repeat).toBe(first);
  expect(other).not.toBe(first);
});

const LONG = `${"word ".repeat(196)}end`;

test.each<[message: Partial<OutgoingMessage> & { to: string }, subject: string]>([
  [{ to: "ada@example.com", text: "Disk full\nOn db-1." }, "Disk full"],
  [{ to: "ada@example.com", text: LONG }, LONG.slice(0, 199)],
  [{ to: "ada@example.com Alert" }, "Alert"],
  [{ to: "ada@example.com <b> is bold" }, "<b> is bold"],
  [{ to: "ada@example.com Hi\r\nBcc: eve@example.com" }, "Hi Bcc: eve@example.com"],
  [{ to: "ada@example.com", subject: "re: Alert" }, "re: Alert"],
  [{ to: "ada@example.com", subject: "<b> <a@x> & <i>" }, "Re: <b> <a@x> & <i>"],
  [{ to: "ada@example.com", subject: LONG }, `Re: ${LONG}`],
  [{ to: "ada@example.com", subject: "Hi\r\nBcc: eve@example.com" }, "Re: Hi Bcc: eve@example.com"],
  [{ to: "ada@example.com", references: ["<a@x>"] }, "Re: x"],
])("%j", async (message, subject) => {
  const channel = await start();
  channel.checkRecipient(message.to);
  await channel.send({ text: "x", idempotencyKey: "1", ...message }, never);
  const [mail] = await server.mails();
  expect(mail).toMatchObject({ subject, to: [{ address: "ada@example.com" }] });
  expect([mail?.inReplyTo, mail?.bcc, mail?.html]).toEqual([message.references?.[0], undefined, undefined]);
});

test.each(["implicit", "starttls"] as const)("sends with TLS: %s", async (tls) => {
  setDefaultCACertificates([CERTIFICATE.cert]);
  const channel = await start({ tls });
  await channel.send(answer, never);
  expect(server.raw()).toHaveLength(1);
});

test.each(["implicit", "starttls"] as const)("sends nothing to a server that nobody vouches for: %s", async (tls) => {
  setDefaultCACertificates([]);
  const channel = await start({ tls });
  const error = await failureOf(channel.send(answer, never));
  expect(error.message).toMatch(/^The mail server gave no answer: self.signed certificate/);
  expect(server.recipientCount()).toBe(0);
});

test("sends nothing in clear text to a server that has no TLS", async () => {
  await start();
  const error = await failureOf(createEmail({ ...server, ...sender, tls: "starttls" }).send(answer, never));
  expect(error.message).toContain("Check channels.email.tls");
  expect(server.recipientCount()).toBe(0);
});

test("the error does not show the password, even when the server quotes it", async () => {
  const channel = await start({ password: "wrong-secret" });
  const error = await failureOf(channel.send(answer, never));
  expect(error).toMatchObject({ retryable: false, message: expect.stringContaining("Check channels.email.user") });
  expect(inspect(error, { depth: null })).not.toContain("wrong-secret");
});

test("a server that cannot be reached is a retryable error", async () => {
  await start();
  await server.close();
  const error = await failureOf(createEmail({ ...server, ...sender, tls: "none" }).send(answer, never));
  expect(error).toMatchObject({ retryable: true, message: expect.stringContaining("ECONNREFUSED") });
});

test.each([
  [{ host: "mail.example.com", from: "agent", tls: "implicit" as const }, ["from"]],
  [{ host: "mail.example.com", from, tls: "none" as const }, ["tls"]],
  [{ host: "localhost", from, tls: "none" as const, user: "u" }, ["password"]],
  [{ host: "mail.example.com", from, tls: "starttls" as const, user: "u", password: "p" }, []],
  [{ host: "mail.example.com", from, tls: "implicit" as const, sentCopy: "off" as const }, ["sentCopy"]],
])("%j has problems at %j", (options, keys) => {
  expect(email.check?.({ sentCopy: "auto", ...options }, { baseDir: "/" }).map(({ key }) => key)).toEqual(keys);
});

async function open(): Promise<RemoteChannelUnderTest> {
  const smtp = await startSmtp();
  return {
    channel: createEmail({ ...smtp, ...sender, tls: "none" }),
    to: smtp.recipient,
    thread: `${smtp.recipient} <a@x> Hello`,
    unknown: "nobody@example.com",
    secret: smtp.password,
    malformed: ["", " ", "ada", "@example.com", "ada@", "a b@example.com", "ada@example.com>", "Ada <ada@example.com>"],
    received: async () => (await smtp.mails()).map(({ text }) => text?.replace(/\n$/, "") ?? ""),
    inject: smtp.inject,
    requestCount: smtp.recipientCount,
    close: smtp.close,
    faults: {
      // Greylisting.
      rateLimited: { kind: "answer", status: 451, body: "4.7.1 Greylisted, try again in 5 minutes" },
      retryAfterMs: 300_000,
      refusedForGood: { kind: "answer", status: 554, body: "5.7.1 Refused" },
      brokenDown: { kind: "answer", status: 421, body: "4.3.2 System not available" },
    },
  };
}
