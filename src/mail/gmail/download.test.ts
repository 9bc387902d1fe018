import { expect, test } from "vitest";
import { FOLLOW_OPTIONS, GMAIL } from "../../../test/support/gmail/stub.ts";
import { MailError } from "../../core/errors.ts";
import { readMail } from "../message/read-mail.ts";
import type { Mail } from "../../core/ports/mail-source.ts";
import type { GmailApi, MessageForm } from "./api.ts";
import { assemblePayload, readMails, withFallback } from "./download.ts";

type Part = Parameters<typeof assemblePayload>[0];

const HEADERS = [
  { name: "From", value: "Bob <bob@example.org>" },
  { name: "Subject", value: "Hello\r\n again" },
  { name: "Content-Type", value: "multipart/mixed; boundary=elsewhere" },
];

function text(mimeType: string, content: string | Buffer, charset = "utf-8"): Part {
  const headers = [{ name: "Content-Type", value: `${mimeType}; charset=${charset}` }];
  return {
    mimeType,
    filename: "",
    headers,
    body: { size: content.length, data: Buffer.from(content).toString("base64url") },
  };
}

function multipart(subtype: string, ...parts: Part[]): Part {
  return { mimeType: `multipart/${subtype}`, headers: HEADERS, body: { size: 0 }, parts };
}

async function read(payload: Part): Promise<Mail> {
  const { bytes, attachments } = assemblePayload(payload);
  const facts = { folder: "", labels: [], receivedAt: 0, attachments };
  return readMail(bytes, facts, { maxBytes: 1000, authservId: undefined });
}

test("reads header and text", async () => {
  const mail = await read(multipart("mixed", text("text/plain", "Good day.")));
  expect(mail).toMatchObject({ sender: "bob@example.org", subject: "Hello again", body: "Good day." });
});

test("reads a mail that is one text", async () => {
  const mail = await read({ ...text("text/plain", "Alone."), headers: HEADERS.slice(0, 2) });
  expect(mail).toMatchObject({ subject: "Hello again", body: "Alone." });
});

test.each([
  ["in its charset", Buffer.from("Gr\xfc\xdfe", "latin1"), "iso-8859-1", "Grüße"],
  ["converted to UTF-8", "Grüße", "iso-8859-1", "Grüße"],
  ["in ISO-2022-JP", "\u001b$B$3$s\u001b(B", "iso-2022-jp", "こん"],
])("decodes a text that Gmail gives %s", async (_, bytes, charset, content) => {
  expect((await read(multipart("mixed", text("text/plain", bytes, charset)))).body).toBe(content);
});

test("lists files and attached mails, but does not read them", async () => {
  const forwarded: Part = { ...text("text/plain", "no"), mimeType: "message/rfc822", filename: "old.eml" };
  const file: Part = { mimeType: "Text/Plain", filename: "notes.txt", body: { attachmentId: "1", size: 7 } };
  const mail = await read(multipart("mixed", text("text/plain", "See."), file, { ...forwarded, body: { size: 9 } }));
  expect(mail.body).toBe("See.");
  expect(mail.attachments).toEqual([
    { name: "notes.txt", type: "text/plain", size: 7 },
    { name: "old.eml", type: "message/rfc822", size: 9 },
  ]);
});

test("reads headers without a text", async () => {
  const mail = await read({ mimeType: "multipart/mixed", headers: HEADERS });
  expect(mail).toMatchObject({ subject: "Hello again", body: "", attachments: [] });
});

const { signal } = new AbortController();

/** Gmail's API, which fails with this status for each mail. */
function failing(status: number | undefined): { api: GmailApi; requested: MessageForm[]; repair(): void } {
  const requested: MessageForm[] = [];
  let isRepaired = false;
  return {
    requested,
    repair: () => (isRepaired = true),
    api: {
      ...GMAIL,
      async message(id, form) {
        requested.push(form);
        if (form === "headers" || isRepaired) return { id };
        throw new MailError("network", "It failed.", { cause: { response: { status } } });
      },
    },
  };
}

async function ask(api: GmailApi, times: number): Promise<unknown[]> {
  const answers: unknown[] = [];
  for (let at = 0; at < times; at++) {
    answers.push(await api.message("1", "raw", signal).catch((error: MailError) => error.kind));
  }
  return answers;
}

test("requests only the headers of a mail after five server errors", async () => {
  const { api, requested } = failing(500);
  expect(await ask(withFallback(api), 7)).toEqual([...Array(5).fill("network"), { id: "1" }, { id: "1" }]);
  expect(requested).toEqual([...Array(5).fill("raw"), "headers", "headers"]);
});

test("gives a placeholder for a mail of which Gmail gives nothing", async () => {
  const api = withFallback({
    ...GMAIL,
    message: async () => {
      throw new MailError("network", "It failed.", { cause: { response: { status: 500 } } });
    },
  });
  const answers = await ask(api, 12);
  const headers = [{ name: "Message-ID", value: "<1@unreadable.invalid>" }];
  expect(answers).toEqual([...Array(10).fill("network"), ...[1, 2].map(() => ({ id: "1", payload: { headers } }))]);
});

test("a mail with parts that are none does not stop the next", async () => {
  const broken = JSON.parse('{ "payload": { "mimeType": "multipart/mixed", "parts": [null] } }');
  const payload = { headers: HEADERS.slice(0, 2), mimeType: "text/plain", body: { data: btoa("Hello"), size: 5 } };
  const api = { ...GMAIL, message: async (id: string) => (id === "1" ? { id, ...broken } : { id, payload }) };
  const { mails } = await readMails(api, ["1", "2"], () => true, FOLLOW_OPTIONS);
  expect(mails.map(({ mail }) => [mail.messageId, mail.body])).toEqual([
    ["1@unreadable.invalid", ""],
    [expect.any(String), "Hello"],
  ]);
});

test("forgets the failures of a mail that Gmail gives", async () => {
  const { api, requested, repair } = failing(503);
  const fallback = withFallback(api);
  await ask(fallback, 4);
  repair();
  expect(await ask(fallback, 2)).toEqual([{ id: "1" }, { id: "1" }]);
  expect(requested).not.toContain("headers");
});

test.each([undefined, 401, 403, 429])("does not count a failure with status %s", async (status) => {
  const { api, requested } = failing(status);
  expect(await ask(withFallback(api), 8)).toEqual(Array(8).fill("network"));
  expect(requested).not.toContain("headers");
});
