import { expect, test } from "vitest";
import { createMailOfEachKind } from "../../../test/support/mails.ts";
import * as fc from "../../../test/support/property.ts";
import { readMail } from "./read-mail.ts";

const RECEIVED = Date.UTC(2026, 10, 20);
const MAX_BYTES = 500;
const CONTROLS = /[\p{Cc}--[\n\t]]/v;

const FRAGMENTS = [
  "\r\n",
  "\n",
  "\r",
  " ",
  "\t",
  "\0",
  ":",
  ";",
  "--",
  "--b",
  "--b--",
  "<",
  ">",
  "@",
  ",",
  "=",
  "=?",
  "?=",
  "(",
  ")",
  '"',
  "\\",
  "Subject: ",
  "From: ",
  "To: ",
  "Date: ",
  "Message-ID: ",
  "References: ",
  "List-Id: ",
  "Authentication-Results: ",
  "spf=pass",
  "Content-Type: ",
  "multipart/mixed; boundary=b",
  "multipart/alternative; boundary=b",
  "text/html",
  "text/calendar",
  "message/rfc822",
  "; charset=",
  "utf-7",
  "iso-2022-jp",
  "gb18030",
  "; name*0*=",
  "utf-8''%C3",
  "Content-Transfer-Encoding: ",
  "base64",
  "quoted-printable",
  "=?utf-8?Q?=C3?=",
  "=?gb2312?B?xOM?=",
  "\u001b$B",
  "<b>",
  "<table><td>",
  "<!--",
  "&#xD800;",
  "BEGIN:VEVENT",
  "SUMMARY:x",
  "é",
  "🚀",
  "x".repeat(300),
];

const written = fc
  .array(fc.constantFrom(...FRAGMENTS), { maxLength: 60 })
  .map((pieces) => Buffer.from(pieces.join("")));
const noise = fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes));

test("any bytes become a mail that is bounded and well-formed", async () => {
  await fc.assert(fc.asyncProperty(fc.oneof(written, noise), expectMail), { numRuns: 150 });
});

test("a mutated real mail is still read", async () => {
  const mails = await createMailOfEachKind();
  const mutated = fc
    .record({
      mail: fc.constantFrom(...mails),
      at: fc.nat(5000),
      drop: fc.nat(200),
      insert: fc.oneof(written, noise),
    })
    .map(({ mail: { source }, at, drop, insert }) => {
      const from = at % source.length;
      return Buffer.concat([source.subarray(0, from), insert, source.subarray(from + drop)]);
    });
  await fc.assert(fc.asyncProperty(mutated, expectMail), { numRuns: 100 });
});

async function expectMail(source: Buffer): Promise<void> {
  const mail = await readMail(
    source,
    { folder: "INBOX", labels: [], receivedAt: RECEIVED },
    { maxBytes: MAX_BYTES, authservId: undefined },
  );
  for (const text of textsOf(mail)) {
    expect(text.isWellFormed()).toBe(true);
    expect(CONTROLS.test(text)).toBe(false);
    expect(text.length).toBeLessThanOrEqual(1000);
  }
  expect(mail.id).not.toBe("");
  expect(Buffer.byteLength(mail.body)).toBeLessThanOrEqual(MAX_BYTES);
  expect(mail.snippet.length).toBeLessThanOrEqual(200);
  expect(mail.snippet).not.toContain("\n");
  expect(new Date(mail.date).toISOString()).toBe(mail.date);
}

/** All nested texts. */
function textsOf(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsOf) : [];
}
