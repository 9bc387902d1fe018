import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { createMailOfEachKind, createMails } from "../../../test/support/mails.ts";
import { encodeBody, encodeText, encodeWords } from "../../../test/support/mails/encode.ts";
import { TEXTS } from "../../../test/support/mails/texts.ts";
import sample from "../../../presets/mail/samples/read-mail.json" with { type: "json" };
import type { Mail } from "../port.ts";
import { type MailFacts, readMail } from "./read-mail.ts";

const RECEIVED = Date.UTC(2026, 10, 20, 9, 8, 2);
const FACTS: MailFacts = { folder: "INBOX", labels: [], receivedAt: RECEIVED };

const FROM = "From: ann@example.com\r\n";
const NOT_WELL_FORMED = /[\p{Cc}--[\n\t]]/v;

test("a mail as it travels is the one of the preset's sample", async () => {
  const source = readFileSync(new URL("../../../test/support/mails/report.eml", import.meta.url));
  expect(await read(source)).toEqual(sample.messages[0]);
});

test("mails that another library wrote are read as they were meant", async () => {
  for await (const { source, kind, token, expected } of createMails({ count: 300, seed: 11 })) {
    const mail = await read(source);
    expect(JSON.stringify(mail)).toContain(token);
    if (!expected) continue;
    expect({ kind, ...mail }).toMatchObject({
      kind,
      id: `${token}@mails.example`,
      subject: expected.subject,
      body: expect.stringContaining(expected.text),
      ...(expected.from && { from: expected.from }),
      ...(expected.sender && { sender: expected.sender }),
    });
    expect(mail.attachments.map(({ name }) => name)).toEqual(
      expect.arrayContaining(expected.attachments ?? []),
    );
  }
});

const inEveryCharset = TEXTS.flatMap((text) => text.charsets.map((charset) => ({ ...text, charset })));

describe.each(inEveryCharset)("$subject in $charset", ({ name, subject, lines, charset }) => {
  test.each(["8bit", "base64", "quoted-printable"])("as %s", async (encoding) => {
    const header = [
      `From: ${encodeWords(name, charset, "B")} <ann@example.com>`,
      `Subject: ${encodeWords(subject, charset, "Q")}`,
      `Content-Type: text/plain; charset=${charset}`,
      `Content-Transfer-Encoding: ${encoding}`,
    ].join("\r\n");
    const body = encodeBody(encodeText(lines.join("\r\n"), charset), encoding);
    expect(await read(Buffer.concat([Buffer.from(`${header}\r\n\r\n`), body]))).toMatchObject({
      from: `${name} <ann@example.com>`,
      subject,
      body: lines.join("\n"),
    });
  });
});

describe("a charset that nobody declared, or wrongly", () => {
  test.each([
    ["UTF-7", "Content-Type: text/plain; charset=unicode-1-1-utf-7\r\n", "1 + 1, Grüße", "utf-7"],
    ["UTF-8 without a label", "", "Grüße", "utf-8"],
    ["UTF-8 under ASCII's", "Content-Type: text/plain; charset=us-ascii\r\n", "Grüße", "utf-8"],
    ["UTF-8 under Latin-1's", "Content-Type: text/plain; charset=iso-8859-1\r\n", "Grüße", "utf-8"],
    ["UTF-8 under an unknown one", "Content-Type: text/plain; charset=x-any\r\n", "Grüße", "utf-8"],
    ["Latin-1 without a label", "", "Grüße", "iso-8859-1"],
    ["Cyrillic that only the subject names", "Subject: =?koi8-r?Q?=C1?=\r\n", "Привет", "koi8-r"],
  ])("%s", async (_, header, text, charset) => {
    const source = Buffer.concat([Buffer.from(`${FROM}${header}\r\n`), encodeText(text, charset)]);
    expect((await read(source)).body).toBe(text);
  });

  test("raw bytes in a header and in the name of a file", async () => {
    const source = `${FROM}Subject: Gr\xfc\xdfe\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: application/pdf; name="\xdcbersicht.pdf"\r\n\r\nx\r\n--b--\r\n`;
    const mail = await read(Buffer.from(source, "latin1"));
    expect([mail.subject, mail.attachments[0]?.name]).toEqual(["Grüße", "Übersicht.pdf"]);
  });
});

describe("the text", () => {
  const alternative = (plain: string, html: string) =>
    `${FROM}Content-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\n\r\n${plain}\r\n--b\r\nContent-Type: text/html\r\n\r\n${html}\r\n--b--\r\n`;

  test("is the plain one, else that of the HTML", async () => {
    expect((await read(alternative("plain", "<p>rich</p>"))).body).toBe("plain");
    expect((await read(alternative(" \r\n", "<p>rich</p>"))).body).toBe("rich");
    expect((await read(`${FROM}Content-Type: text/html\r\n\r\n<p>rich</p>`)).body).toBe("rich");
  });

  test("is all of it where a list has added its own to HTML", async () => {
    const source = `${FROM}Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n<style>p{}</style><p>rich</p><p hidden>not seen</p>\r\n--b\r\n\r\nthe list\r\n--b--\r\n`;
    expect((await read(source)).body).toBe("rich\n\nthe list");
  });

  test("is unfolded where it is flowed", async () => {
    const flowed = `${FROM}Content-Type: text/plain; format=flowed; delsp=yes\r\n\r\nGlück \r\nwunsch\r\n`;
    expect((await read(flowed)).body).toBe("Glückwunsch");
  });

  test("is cut to so many bytes, and says so", async () => {
    const source = `${FROM}\r\n${"ü".repeat(20)}`;
    expect(await read(source, { maxBytes: 11 })).toMatchObject({ body: "üüüüü", truncated: true });
    expect(await read(source, { maxBytes: 40 })).toMatchObject({ body: "ü".repeat(20), truncated: false });
  });

  test("holds what a calendar invites to", async () => {
    const mails = await createMailOfEachKind();
    const invite = mails.find(({ kind }) => kind === "invite");
    expect((await read(invite?.source ?? "")).body).toContain(
      "What: Planning, second part\nBegins: 2026-11-24 10:00 (Europe/Berlin)",
    );
  });

  test("holds that of a mail within", async () => {
    const source = `${FROM}Content-Type: message/rfc822\r\n\r\nSubject: inner\r\n\r\nfrom within`;
    expect((await read(source)).body).toMatch(/inner[^]*from within/);
  });

  test.each([
    ["the boundary is not declared", "Content-Type: multipart/mixed\r\n", "--b\r\n\r\ntext\r\n--b--\r\n"],
    [
      "the boundary is another",
      "Content-Type: multipart/mixed; boundary=a\r\n",
      "--b\r\n\r\ntext\r\n--b--\r\n",
    ],
    ["a part has no end", "Content-Type: multipart/mixed; boundary=b\r\n", "--b\r\n\r\ntext"],
    ["nothing divides it", "Content-Type: multipart/mixed; boundary=a\r\n", "text"],
    ["the encoding is broken", "Content-Transfer-Encoding: base64\r\n", "d*G!V4\r\ndA=\r\n"],
    ["the parts lie too deep", deepHeader(1000), "text"],
  ])("is found where %s", async (_, header, body) => {
    expect((await read(`${FROM}${header}\r\n${body}`)).body).toBe("text");
  });

  test("is empty where there is none", async () => {
    const empty = `${FROM}Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\n--b--\r\n`;
    for (const source of [empty, FROM, `${FROM}\r\n`, ""])
      expect(await read(source)).toMatchObject({ body: "", snippet: "" });
  });
});

describe("what is attached", () => {
  test("pictures that the HTML shows count only under a name", async () => {
    const image = (header: string) => `--b\r\nContent-Type: image/png\r\n${header}\r\nabc\r\n`;
    const source = `${FROM}Content-Type: multipart/related; boundary=b\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n<p>text</p>\r\n${image("Content-ID: <a>\r\n")}${image('Content-ID: <b>\r\nContent-Disposition: inline; filename="b.png"\r\n')}--b--\r\n`;
    expect((await read(source)).attachments).toEqual([{ name: "b.png", type: "image/png", size: 4 }]);
  });

  test("names in pieces (RFC 2231), of TNEF, of a mail", async () => {
    const parts = [
      "Content-Type: application/pdf;\r\n name*0*=utf-8''%C3%9Cber;\r\n name*1*=sicht.pdf",
      "Content-Type: application/ms-tnef; name=winmail.dat",
      'Content-Type: message/rfc822\r\nContent-Disposition: attachment; filename="a mail.eml"',
    ];
    const source = `${FROM}Content-Type: multipart/mixed; boundary=b\r\n\r\n${parts.map((part) => `--b\r\n${part}\r\n\r\nx\r\n`).join("")}--b--\r\n`;
    expect((await read(source)).attachments.map(({ name }) => name)).toEqual([
      "Übersicht.pdf",
      "winmail.dat",
      "a mail.eml",
    ]);
  });

  test("is as the source says, where it says so", async () => {
    const attachments = [{ name: "a\r\nb", type: "text/csv", size: 7 }];
    expect((await read(FROM, {}, { attachments })).attachments).toEqual([
      { name: "a b", type: "text/csv", size: 7 },
    ]);
  });
});

describe("ids", () => {
  test("a mail without one is known by its bytes", async () => {
    const [one, same, other] = await Promise.all([
      read(`${FROM}\r\na`),
      read(`${FROM}\r\na`),
      read(`${FROM}\r\nb`),
    ]);
    expect(one.id).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(same.id).toBe(one.id);
    expect(other.id).not.toBe(one.id);
  });

  test.each([
    ["Message-ID: <a@x>\r\n", {}, "a@x"],
    ["Message-ID: <a@x>\r\nIn-Reply-To: <b@x>\r\n", {}, "b@x"],
    ["In-Reply-To: <b@x>\r\nReferences: <c@x>\r\n <b@x>\r\n", {}, "c@x"],
    ["References: <c@x>\r\n", { threadId: "177" }, "177"],
  ])("the thread of %j", async (header, facts, threadId) => {
    expect((await read(`${FROM}${header}\r\n`, {}, facts)).threadId).toBe(threadId);
  });

  test.each([
    ["List-Id: All of us <all.example.com>", "all.example.com"],
    ["List-ID: all.example.com", "all.example.com"],
    ["", ""],
  ])("the list of %j", async (header, listId) => {
    expect((await read(`${FROM}${header}\r\n\r\n`)).listId).toBe(listId);
  });
});

test("the first author counts, else who sent it", async () => {
  expect(await read("From: A <a@x.example>, b@x.example\r\n\r\n")).toMatchObject({
    from: "A <a@x.example>",
    sender: "a@x.example",
  });
  expect(await read("Sender: S@x.example\r\n\r\n")).toMatchObject({
    from: "S@x.example",
    sender: "s@x.example",
  });
  expect(await read("Subject: nobody\r\n\r\n")).toMatchObject({ from: "", sender: "" });
});

test.each([
  ["words of any kind", "=?utf-8?Q?a=C3=A9?= =?iso-8859-1?q?=E9?=", "aéé"],
  ["words without padding", "=?utf-8?B?w6k?=", "é"],
  ["a character in two words", "=?utf-8?Q?=C3?= =?utf-8?Q?=A9?=", "é"],
  ["a character in two words of base64", "=?utf-8?B?YcM=?=\r\n =?utf-8?b?qWI=?= c", "aéb c"],
  ["a word without end", "=?utf-8?B?w6k", "=?utf-8?B?w6k"],
  ["an unknown charset", "=?x-none?Q?=C3=A9?=", "é"],
  ["an unknown encoding", "=?utf-8?X?abc?=", "=?utf-8?X?abc?="],
  ["UTF-7", "=?utf-7?Q?Fr+APY-sche?=", "Frösche"],
  ["a null character", "a\0b", "ab"],
  ["a language", "=?utf-8*de?Q?=C3=A9?=", "é"],
])("a subject with %s", async (_, header, subject) => {
  expect((await read(`${FROM}Subject: ${header}\r\n\r\n`)).subject).toBe(subject);
});

test("what the source knows is passed on, authentication results are read", async () => {
  const source = `Authentication-Results: mx.example; dmarc=fail\r\n${FROM}\r\n`;
  expect(await read(source, {}, { folder: "Lists", labels: ["red"] })).toMatchObject({
    folder: "Lists",
    labels: ["red"],
    date: new Date(RECEIVED).toISOString(),
    authentication: { server: "mx.example", dmarc: "fail" },
  });
  expect((await read(source, { authservId: "other.example" })).authentication).toEqual({});
});

describe("hostile mails are bounded", () => {
  const parts = (part: string, count: number) =>
    `${FROM}Content-Type: multipart/mixed; boundary=b\r\n\r\n${part.repeat(count)}--b--\r\n`;

  test.each([
    ["100,000 header lines", `${FROM}${"X-Any: thing\r\n".repeat(100_000)}\r\ntext`],
    ["a header of a megabyte", `${FROM}Subject: ${"=?utf-8?Q?a?= ".repeat(80_000)}\r\n\r\ntext`],
    ["a folded header of a megabyte", `${FROM}To: ${"a@example.com,\r\n ".repeat(60_000)}\r\n\r\ntext`],
    ["50,000 recipients", `${FROM}To: ${"Ann <a@example.com>, ".repeat(50_000)}\r\n\r\ntext`],
    ["a line of a megabyte", `${FROM}\r\n${"text ".repeat(200_000)}`],
    ["100,000 lines", `${FROM}\r\n${"text\r\n".repeat(100_000)}`],
    ["5,000 attachments", parts("--b\r\nContent-Type: application/pdf; name=a.pdf\r\n\r\ntext\r\n", 5000)],
    ["mails within mails", `${FROM}${"Content-Type: message/rfc822\r\n\r\n".repeat(1000)}text`],
    ["10,000 parts within each other", `${FROM}${deepHeader(10_000)}\r\ntext`],
    ["parentheses", `${FROM}Content-Type: ${"(".repeat(60_000)}\r\nTo: ${"(".repeat(60_000)}\r\n\r\ntext`],
    [
      "control characters",
      `${FROM}Subject: \u0007\u001b[31m\u009b\r\nMessage-ID: <a\u0000b>\r\n\r\n\u0000\u0008text\ud800`,
    ],
  ])("%s", async (_, source) => {
    const mail = await read(source);
    expectBounded(mail);
    expect(mail.to.length).toBeLessThanOrEqual(100);
    expect(mail.sender).toBe("ann@example.com");
  });
});

function deepHeader(depth: number): string {
  return Array.from(
    { length: depth },
    (_, level) => `Content-Type: multipart/mixed; boundary=b${level}\r\n\r\n--b${level}\r\n`,
  ).join("");
}

function expectBounded(mail: Mail): void {
  expect(JSON.stringify(mail)).not.toMatch(/\\u(?:00[01]|007f|008|009|d[89a-f])/i);
  expect(Buffer.byteLength(mail.body)).toBeLessThanOrEqual(20_000);
  expect(NOT_WELL_FORMED.test([mail.subject, mail.from, mail.body, mail.snippet, mail.id].join(""))).toBe(
    false,
  );
}

function read(
  source: string | Buffer,
  options: { maxBytes?: number; authservId?: string } = {},
  facts: Partial<MailFacts> = {},
): Promise<Mail> {
  return readMail(
    Buffer.from(source as string),
    { ...FACTS, ...facts },
    { maxBytes: 20_000, authservId: undefined, ...options },
  );
}
