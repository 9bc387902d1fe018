import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { createMails } from "../../../test/support/mails.ts";
import { read, RECEIVED } from "../../../test/support/mails/read.ts";
import sample from "../../../presets/mail/samples/read-mail.json" with { type: "json" };

const FROM = "From: ann@example.com\r\n";

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
