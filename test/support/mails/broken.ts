import { type MadeMail, type MailContext, type MailKind, pick, toMessageId } from "./kind.ts";
import { TEXTS } from "./texts.ts";

/** Mails that are broken like real ones. The token is intact in at least one of Message-ID, subject and text. */
export const brokenKinds: MailKind[] = [
  broken("no-message-id", ({ token }) => mail(head(token, { "Message-ID": undefined }), `It bears no id: ${token}`)),
  broken("truncated", ({ token, random }) => truncated(token, random.below(400))),
  broken("boundary-missing", ({ token }) =>
    mail(head(token, { "Content-Type": 'multipart/mixed; boundary="lost"' }), parts("found", token)),
  ),
  broken("boundary-undeclared", ({ token }) =>
    mail(head(token, { "Content-Type": "multipart/mixed" }), parts("found", token)),
  ),
  broken("no-separator", ({ token }) =>
    Buffer.from(`${head(token, {})}This is the text already: ${token}\r\nand a second line.\r\n`),
  ),
  broken("bare-line-feeds", ({ token }) =>
    Buffer.from(mail(head(token, {}), `Line one\r\n${token}`).toString().replaceAll("\r\n", "\n")),
  ),
  broken("8-bit-header", (context) => eightBit(context)),
  broken("wrong-date", ({ token }) => mail(head(token, { Date: "Thu, 31 Foo 2026 25:61" }), token)),
  broken("unknown-charset", ({ token }) =>
    mail(head(token, { "Content-Type": "text/plain; charset=x-no-such-charset" }), `Grüße, ${token}`),
  ),
  broken("wrong-charset", ({ token }) =>
    mail(head(token, { "Content-Type": "text/plain; charset=us-ascii" }), `Grüße, ${token}`),
  ),
  broken("deep", ({ token, random }) => deep(token, 20 + random.below(60))),
  broken("long-line", ({ token }) => mail(head(token, {}), `${token} ${"long ".repeat(8000)}`)),
  broken("many-headers", ({ token }) =>
    mail(`${"X-Spam-Test: yes, it is one\r\n".repeat(500)}${head(token, {})}`, token),
  ),
  broken("many-recipients", ({ token }) =>
    mail(
      head(token, {
        To: Array.from({ length: 500 }, (_, index) => `Person ${index} <p${index}@example.com>`).join(",\r\n "),
      }),
      token,
    ),
  ),
  broken("broken-base64", ({ token }) =>
    mail(
      head(token, { "Content-Transfer-Encoding": "base64" }),
      `${Buffer.from(`Text: ${token}`).toString("base64")}!!!\r\n*`,
    ),
  ),
  broken("broken-words", ({ token }) =>
    mail(
      head(token, {
        Subject: `=?utf-8?B?R3LDvMOf?= =?utf-8?Q?=C3?= =?no-such?X?abc?= =?utf-8?B?4p [${token}]`,
      }),
      token,
    ),
  ),
  broken("twice", ({ token }) =>
    mail(`${head(token, {})}Subject: another [${token}]\r\nFrom: other@example.net\r\n`, token),
  ),
  broken("no-from", ({ token }) => mail(head(token, { From: undefined }), token)),
  broken("header-alone", ({ token }) => Buffer.from(head(token, {}))),
  broken("no-text", ({ token }) => mail(head(token, { "Content-Type": "text/html" }), "")),
];

function broken(name: string, make: (context: MailContext) => Buffer): MailKind {
  return { name, make: (context): MadeMail => ({ source: make(context) }) };
}

/** Header lines, each of which can be replaced or left out. */
function head(token: string, changes: Record<string, string | undefined>): string {
  const fields = {
    "Message-ID": toMessageId(token),
    Date: "Fri, 20 Nov 2026 10:08:00 +0100",
    From: "Broken Sender <broken@example.net>",
    To: "me@example.com",
    Subject: `Broken [${token}]`,
    ...changes,
  };
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");
}

function mail(header: string, body: string): Buffer {
  return Buffer.from(`${header}\r\n${body}\r\n`);
}

function parts(boundary: string, token: string): string {
  return [`--${boundary}`, "Content-Type: text/plain", "", `In a part: ${token}`, `--${boundary}--`].join("\r\n");
}

function truncated(token: string, length: number): Buffer {
  const pdf = Buffer.alloc(3000, 7).toString("base64").replaceAll(/.{76}/g, "$&\r\n");
  const body = `${parts("cut", token).slice(0, -2)}\r\nContent-Type: application/pdf; name="cut.pdf"\r\nContent-Transfer-Encoding: base64\r\n\r\n${pdf}`;
  const whole = mail(head(token, { "Content-Type": "multipart/mixed; boundary=cut" }), body);
  return whole.subarray(0, whole.length - 3 - length);
}

/** Raw Latin-1 or similar in the header. */
function eightBit({ token, random }: MailContext): Buffer {
  const text = pick(
    random,
    TEXTS.filter(({ charsets }) => charsets.includes("iso-8859-1")),
  );
  return Buffer.from(
    mail(
      head(token, { Subject: `${text.subject} [${token}]`, From: `${text.name} <raw@example.net>` }),
      token,
    ).toString(),
    "latin1",
  );
}

function deep(token: string, depth: number): Buffer {
  const opened = Array.from(
    { length: depth },
    (_, level) => `Content-Type: multipart/mixed; boundary="deep-${level}"\r\n\r\n--deep-${level}\r\n`,
  );
  return Buffer.from(`${head(token, {})}${opened.join("")}\r\nAt the bottom: ${token}\r\n`);
}
