import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import sample from "../../../presets/mail/samples/read-mail.json" with { type: "json" };
import { createMails } from "../../../test/support/mails.ts";
import { read as readSource, RECEIVED as RECEIVED_AT } from "../../../test/support/mails/read.ts";
import { assembleMail, readMail, toDate, toPeople } from "./read-mail.ts";

describe("readMail", () => {
  const FROM = "From: ann@example.com\r\n";

  test("a raw mail becomes the sample of the preset", async () => {
    const source = readFileSync(new URL("../../../test/support/mails/report.eml", import.meta.url));
    expect(await readSource(source)).toEqual(sample.messages[0]);
  });

  test.each([
    ["Auto-Submitted: auto-replied", "Auto-Submitted: auto-replied"],
    ["auto-submitted: no", undefined],
    ["Precedence: bulk", "Precedence: bulk"],
    ["Precedence: first-class", undefined],
    ["Precedence: auto_reply", "Precedence: auto_reply"],
    ["X-Autoreply: yes", "X-Autoreply: yes"],
    ["X-Autorespond: away", "X-Autorespond: away"],
    ["Content-Type: multipart/report; boundary=b", "Content-Type: multipart/report; boundary=b"],
    ["Content-Type: text/plain", undefined],
    ["List-Id: <news.example.com>", "List-Id: <news.example.com>"],
    ["Return-Path: <>", "Return-Path: <>"],
    ["Return-Path: <ann@example.com>", undefined],
    ["X-Auto-Response-Suppress: DR, AutoReply", "X-Auto-Response-Suppress: DR, AutoReply"],
    ["From: Mailer <MAILER-DAEMON@example.com>", "From: Mailer <MAILER-DAEMON@example.com>"],
    ["X-Other: x", undefined],
  ])("%s: automatic is %s", async (line, automatic) => {
    expect((await readSource(`${line}\r\n\r\nHello`)).automatic).toBe(automatic);
  });

  test("mails of another library are read correctly", async () => {
    for await (const { source, kind, token, expected } of createMails({ count: 300, seed: 11 })) {
      const mail = await readSource(source);
      expect(JSON.stringify(mail)).toContain(token);
      if (!expected) continue;
      expect({ kind, ...mail }).toMatchObject({
        kind,
        messageId: `${token}@mails.example`,
        subject: expected.subject,
        body: expect.stringContaining(expected.text),
        ...(expected.from && { from: expected.from }),
        ...(expected.sender && { sender: expected.sender }),
      });
      expect(mail.attachments.map(({ name }) => name)).toEqual(expect.arrayContaining(expected.attachments ?? []));
    }
  });

  describe("ids", () => {
    test("a mail without an id gets a digest of its bytes", async () => {
      const [one, same, other] = await Promise.all([
        readSource(`${FROM}\r\na`),
        readSource(`${FROM}\r\na`),
        readSource(`${FROM}\r\nb`),
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
      expect((await readSource(`${FROM}${header}\r\n`, {}, facts)).threadId).toBe(threadId);
    });

    test.each([
      ["References: <c@x>\r\n <b@x>\tno <d@x>\r\nIn-Reply-To: <e@x>\r\n", ["c@x", "b@x", "d@x"]],
      ["In-Reply-To: <b@x>\r\n", ["b@x"]],
      ["In-Reply-To: <b@x> <c@x>\r\n", undefined],
      ["Subject: x\r\n", undefined],
    ])("the references of %j", async (header, references) => {
      expect((await readSource(`${FROM}${header}\r\n`)).references).toEqual(references);
    });

    test.each([
      ["List-Id: All of us <all.example.com>", "all.example.com"],
      ["List-ID: all.example.com", "all.example.com"],
      ["", ""],
    ])("the list of %j", async (header, listId) => {
      expect((await readSource(`${FROM}${header}\r\n\r\n`)).listId).toBe(listId);
    });
  });

  test("the first author is shown, else the sender; several authors have no address", async () => {
    expect(await readSource("From: A <a@x.example>, b@x.example\r\n\r\n")).toMatchObject({
      from: "A <a@x.example>",
      sender: "",
    });
    expect(await readSource("Sender: S@x.example\r\n\r\n")).toMatchObject({
      from: "S@x.example",
      sender: "s@x.example",
    });
    expect(await readSource("Subject: nobody\r\n\r\n")).toMatchObject({ from: "", sender: "" });
  });

  test.each([
    ["words of any kind", "=?utf-8?Q?a=C3=A9?= =?iso-8859-1?q?=E9?=", "aéé"],
    ["words without padding", "=?utf-8?B?w6k?=", "é"],
    ["a character in two words", "=?utf-8?Q?=C3?= =?utf-8?Q?=A9?=", "é"],
    ["a character in two words of base64", "=?utf-8?B?YcM=?=\r\n =?utf-8?b?qWI=?= c", "aéb c"],
    ["a word without end", "=?utf-8?B?w6k", "=?utf-8?B?w6k"],
    ["an unknown charset", "=?x-none?Q?=C3=A9?=", "é"],
    ["an unknown encoding", "=?utf-8?X?abc?=", "=?utf-8?X?abc?="],
    ["a null character", "a\0b", "ab"],
    ["a language", "=?utf-8*de?Q?=C3=A9?=", "é"],
  ])("a subject with %s", async (_, header, subject) => {
    expect((await readSource(`${FROM}Subject: ${header}\r\n\r\n`)).subject).toBe(subject);
  });

  test("the facts of the source are used, authentication results are read", async () => {
    const source = `Authentication-Results: mx.example; dmarc=fail\r\n${FROM}\r\n`;
    expect(await readSource(source, {}, { folder: "Lists", labels: ["red"] })).toMatchObject({
      folder: "Lists",
      labels: ["red"],
      date: new Date(RECEIVED_AT).toISOString(),
      authentication: { server: "mx.example", dmarc: "fail" },
    });
    expect((await readSource(source, { authservId: "other.example" })).authentication).toEqual({});
  });
});

describe("assembleMail", () => {
  const HEADER =
    "Subject: pieces\r\nContent-Type: multipart/alternative; boundary=old\r\nContent-Transfer-Encoding: base64\r\nMessage-ID: <a@example.com>";
  const PLAIN =
    "Content-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nGr=FC=DFe";
  const HTML = `Content-Type: text/html\r\nContent-Transfer-Encoding: base64\r\n\r\n${Buffer.from("<p>two</p>").toString("base64")}`;

  test.each(["\r\n\r\n", "\r\n", ""])("a header that ends in %j and its texts are a mail", async (end) => {
    expect(await read(HEADER + end, [PLAIN, HTML])).toMatchObject({
      messageId: "a@example.com",
      subject: "pieces",
      body: "Grüße\n\n\ntwo",
      attachments: [],
    });
  });

  test("the last text may be cut", async () => {
    expect(await read(HEADER, [HTML.slice(0, -6)])).toMatchObject({
      body: expect.stringMatching(/^tw/),
    });
  });

  test("there may be no text", async () => {
    expect(await read(`${HEADER}\r\n\r\n`, [])).toMatchObject({
      subject: "pieces",
      body: "",
      attachments: [],
    });
  });

  test("the same pieces are the same bytes", () => {
    expect(assemble(HEADER, [PLAIN])).toEqual(assemble(HEADER, [PLAIN]));
  });

  function assemble(header: string, entities: string[]): Uint8Array {
    return assembleMail(
      Buffer.from(header),
      entities.map((entity) => Buffer.from(entity)),
    );
  }

  function read(header: string, entities: string[]) {
    const facts = { folder: "INBOX", labels: [], receivedAt: 0 };
    return readMail(assemble(header, entities), facts, { maxBytes: 1000, authservId: undefined });
  }
});

describe("toDate", () => {
  const RECEIVED = "2026-11-20T12:00:00.000Z";

  test.each([
    ["Fri, 20 Nov 2026 10:08:00 +0100", "2026-11-20T09:08:00.000Z"],
    ["20 Nov 2026 10:08 +0100 (CET)", "2026-11-20T09:08:00.000Z"],
    ["Fri, 20 Nov 2026 04:08:00 EST", "2026-11-20T09:08:00.000Z"],
    ["Fri, 20 Nov 2026 09:08:00 GMT", "2026-11-20T09:08:00.000Z"],
    ["Fri, 20 Nov 2026 09:08:00", "2026-11-20T09:08:00.000Z"],
    ["Fri, 20 Nov 2026 09:08:00 XYZT", "2026-11-20T09:08:00.000Z"],
    ["Fri, 20 Nov 2026 03:08:00 -600", "2026-11-20T09:08:00.000Z"],
    ["1 Jan 1950 10:00 +0000", "1950-01-01T10:00:00.000Z"],
    ["Fri,  6 Nov  98 09:08:00 +0000", "1998-11-06T09:08:00.000Z"],
  ])("%j is a date", (header, date) => {
    expect(toDate(header, Date.parse(RECEIVED))).toBe(date);
  });

  test.each(["", "yesterday", "1", "Thu, 31 Foo 2026 25:61", "Fri, 20 Nov 2036 10:08:00 +0100", "9".repeat(5000)])(
    "%j is not plausible",
    (header) => {
      expect(toDate(header, Date.parse(RECEIVED))).toBe(RECEIVED);
    },
  );
});

describe("toPeople", () => {
  test.each([
    ["Ann Lee <Ann@Example.com>", "Ann Lee <Ann@Example.com>"],
    ["ann@example.com", "ann@example.com"],
    ["ann@example.com (Ann Lee)", "Ann Lee <ann@example.com>"],
    ["<ann@example.com>", "ann@example.com"],
    ['"Lee, Ann" <ann@example.com>', '"Lee, Ann" <ann@example.com>'],
    ["=?utf-8?Q?J=C3=B6rg?= <j@example.com>", "Jörg <j@example.com>"],
    ["=?us-ascii?Q?J=C3=B6rg?= <j@example.com>", "Jörg <j@example.com>"],
    ["root", "root"],
  ])("%j", (header, shown) => {
    expect(toPeople([header], 10)).toEqual([shown]);
  });

  test("a name cannot look like the address", () => {
    const people = toPeople(['"boss@example.com" <else@example.net>'], 1);
    expect(people).toEqual(['"boss@example.com" <else@example.net>']);
  });

  test("members of groups are included", () => {
    const people = toPeople(["Team: a@example.com, Bob <b@example.com>;", "undisclosed-recipients:;"], 10);
    expect(people).toEqual(["a@example.com", "Bob <b@example.com>"]);
  });

  test("the number is limited", () => {
    const many = Array.from({ length: 3000 }, (_, index) => `p${index}@example.com`).join(", ");
    expect(toPeople([many, many], 100)).toHaveLength(100);
  });
});
