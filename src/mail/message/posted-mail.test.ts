import { describe, expect, test } from "vitest";
import type { Mail } from "../../core/ports/mail-source.ts";
import { type MailService, readServiceMail } from "./posted-mail.ts";

const receivedAt = Date.parse("2026-01-05T09:00:00Z");
const RAW =
  "From: Ann <ann@example.com>\r\nSubject: a\r\nMessage-ID: <1@example.com>\r\nContent-Type: text/html\r\n\r\n<p>Hi</p>";

async function read(service: MailService, payload: unknown): Promise<Mail | undefined> {
  const { messages } = await readServiceMail(service, { payload, receivedAt }, { maxBytes: 20_000 });
  return messages[0];
}

const postmark = {
  FromFull: { Email: "ann@example.com", Name: 'Ann "A" Lee' },
  To: "bob@example.org",
  Subject: "a",
  TextBody: "Hi",
  Headers: [{ Name: "Message-ID", Value: "<1@example.com>" }],
};
const mailgun = {
  "message-headers": JSON.stringify([
    ["From", "Ann <ann@example.com>"],
    ["Subject", "=?utf-8?Q?Gr=C3=BC=C3=9Fe?="],
    ["Message-Id", "<1@example.com>"],
    ["Content-Type", 'multipart/mixed; boundary="x"'],
    ["Content-Transfer-Encoding", "base64"],
  ]),
  subject: "Grüße",
  "body-plain": "Hi",
};
const sendgrid = {
  headers: "Received: by mx\nFrom: Ann <ann@example.com>\nSubject: a\nMessage-ID: <1@example.com>\n",
  text: "Hi",
};

const ses = (content: string, action: object = {}) => ({
  Message: JSON.stringify({
    mail: { headers: [{ name: "From", value: "Ann <ann@example.com>" }] },
    receipt: { spfVerdict: { status: "FAIL" }, action },
    content,
  }),
});

test.each([
  ["postmark", postmark, { from: "Ann 'A' Lee <ann@example.com>", to: ["bob@example.org"], subject: "a" }],
  ["postmark", { RawEmail: RAW }, { from: "Ann <ann@example.com>" }],
  ["mailgun", mailgun, { from: "Ann <ann@example.com>", subject: "Grüße" }],
  ["mailgun", { "body-mime": RAW }, { from: "Ann <ann@example.com>" }],
  ["mailgun", { from: "ann@example.com", "Message-Id": "<1@example.com>", "body-html": ["<b>Hi</b>"] }, {}],
  ["sendgrid", sendgrid, { from: "Ann <ann@example.com>" }],
  ["sendgrid", { email: RAW, from: "else@example.com" }, { from: "Ann <ann@example.com>" }],
  ["ses", ses(RAW), { authentication: { server: "Amazon SES", spf: "fail" } }],
  ["ses", ses(btoa(RAW), { encoding: "BASE64" }), { from: "Ann <ann@example.com>" }],
] as const)("reads what %s posts", async (service, payload, expected) => {
  const mail = await read(service, payload);
  expect(mail).toMatchObject({ sender: "ann@example.com", messageId: "1@example.com", body: "Hi", ...expected });
  expect((await read(service, payload))?.id).toBe(mail?.id);
});

/** A form program that gives each order one Message-ID, From, Date and Subject. */
const orderOf = (service: MailService, order: string): object => {
  if (service === "postmark") return { ...postmark, TextBody: order };
  if (service === "mailgun") return { ...mailgun, "body-plain": order };
  if (service === "sendgrid") return { ...sendgrid, text: order };
  return ses(RAW.replace("Hi", order));
};

test.each(["postmark", "mailgun", "sendgrid", "ses"] as const)(
  "mails that differ in their text alone are different mails: %s",
  async (service) => {
    const ids = await Promise.all(
      ["1 apple", "2 pears", "3 plums"].map((order) => read(service, orderOf(service, order))),
    );
    expect(new Set(ids.map((mail) => mail?.id)).size).toBe(3);
  },
);

test("mails that differ in an attached file alone are different mails", async () => {
  const fileOf = (Name: string): object => ({ ...postmark, Attachments: [{ Name, ContentType: "application/pdf" }] });
  const [one, other] = await Promise.all(["1.pdf", "2.pdf"].map((name) => read("postmark", fileOf(name))));
  expect(one?.id).not.toBe(other?.id);
});

test("a mail in base64 keeps the bytes of its charset", async () => {
  const latin = Buffer.from(
    RAW.replace("<p>Hi</p>", "<p>Grüße</p>").replace("text/html", "text/html; charset=latin1"),
    "latin1",
  );
  expect(await read("ses", ses(latin.toString("base64"), { encoding: "BASE64" }))).toMatchObject({ body: "Grüße" });
});

test("a mail of which SES sends only the common header", async () => {
  const common = {
    from: ["Ann <ann@example.com>"],
    to: ["a@example.org", "b@example.org"],
    messageId: "<1@example.com>",
  };
  const Message = JSON.stringify({ mail: { commonHeaders: { ...common, subject: "a" } }, receipt: {} });
  const expected = { from: common.from[0], to: common.to, subject: "a", messageId: "1@example.com", body: "" };
  expect(await read("ses", { Message })).toMatchObject(expected);
});

test("a mail of which SES sends no header has that of its envelope", async () => {
  const mail = {
    source: "ann@example.com",
    destination: ["a@example.org"],
    messageId: "d6iitobk",
    timestamp: "2026-01-05T09:00:00.000Z",
  };
  const Message = JSON.stringify({ notificationType: "Received", mail, receipt: {} });
  expect(await read("ses", { Message })).toMatchObject({ from: "ann@example.com", to: ["a@example.org"], body: "" });
});

test("a text that is both plain and HTML appears once, HTML without what a reader would not see", async () => {
  const html = '<p>Hi</p><p style="display:none">secret</p>';
  expect(await read("sendgrid", { ...sendgrid, html })).toMatchObject({ body: "Hi" });
  expect(await read("sendgrid", { ...sendgrid, text: " \r\n", html })).toMatchObject({ body: "Hi" });
});

describe("attachments", () => {
  const file = { field: "attachment-1", name: "a.pdf", type: "application/pdf", size: 3, content: "YWJj" };
  const expected = [{ name: "a.pdf", type: "application/pdf", size: 3 }];
  const stored = '[{"name":"a.pdf","content-type":"application/pdf","size":3,"url":"https://example.com"}]';
  const info = '{"attachment1":{"filename":"a.pdf","type":"application/pdf"}}';
  const given = [{ Name: "a.pdf", ContentType: "application/pdf", ContentLength: 3 }];
  test.each([
    ["postmark", { ...postmark, Attachments: given }, expected],
    ["mailgun", { ...mailgun, files: [file] }, expected],
    ["mailgun", { ...mailgun, attachments: stored }, expected],
    ["sendgrid", { ...sendgrid, files: [file], "attachment-info": info }, expected],
    ["sendgrid", { ...sendgrid, "attachment-info": info }, [{ ...expected[0], size: 0 }]],
  ] as const)("of %s", async (service, payload, attachments) => {
    expect(await read(service, payload)).toMatchObject({ attachments });
  });
});

test.each([
  ["pass", "{@a.example : fail, @example.com : pass}", { spf: "pass", dkim: "pass" }],
  ["softfail", "{@pass.example : fail}", { spf: "softfail", dkim: "fail" }],
  ["none", "none", { spf: "none", dkim: "none" }],
])("SendGrid's own results count: %s, %s", async (SPF, dkim, authentication) => {
  const headers = `Authentication-Results: example.com; dmarc=pass\n${sendgrid.headers}`;
  const mail = await read("sendgrid", { ...sendgrid, headers, SPF, dkim });
  expect(mail?.authentication).toEqual({ server: "SendGrid", ...authentication });
});

test.each([
  ["postmark", { ...postmark, Headers: [{ Name: "Authentication-Results", Value: "mx; dmarc=pass" }] }, true],
  ["mailgun", { "body-mime": `Authentication-Results: mx; dmarc=pass\r\n${RAW}` }, true],
  ["sendgrid", { ...sendgrid, headers: `Authentication-Results: mx; dmarc=pass\n${sendgrid.headers}` }, true],
  [
    "ses",
    { Message: JSON.stringify({ mail: {}, receipt: { dmarcVerdict: { status: "PASS" } }, content: RAW }) },
    undefined,
  ],
] as const)("%s: what the mail says about its sender is not certain", async (service, payload, forgeable) => {
  const { authentication } = Object(await read(service, payload));
  expect([authentication.dmarc, authentication.forgeable]).toEqual(["pass", forgeable]);
});

test("a decoded value cannot add a field to the header", async () => {
  const mail = await read("postmark", { ...postmark, Subject: "a\r\nReply-To: eve@example.net\r\n\r\nHi" });
  expect(mail).toMatchObject({ subject: "a Reply-To: eve@example.net Hi", replyTo: [] });
  const Headers = [{ Name: "X: y\r\nReply-To", Value: "eve@example.net" }];
  expect(await read("postmark", { ...postmark, Headers })).toMatchObject({ replyTo: [] });
});

test.each([[null], [[]], [{}], [{ Headers: "x", FromFull: 5, Attachments: {}, "message-headers": "[", headers: {} }]])(
  "refuses %j",
  async (payload) => {
    for (const service of ["postmark", "mailgun", "sendgrid"] as const)
      await expect(read(service, payload)).rejects.toMatchObject({ code: "invalid_payload" });
  },
);
