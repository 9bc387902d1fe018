import { expect, test } from "vitest";
import { GMAIL } from "../../../test/support/gmail/stub.ts";
import { MailError } from "../../errors.ts";
import { assembleMail, readMail } from "../message/read-mail.ts";
import type { Mail } from "../source.ts";
import type { GmailApi, MessageForm } from "./api.ts";
import { splitPayload, withTries } from "./fetch.ts";

type Part = Parameters<typeof splitPayload>[0];

const HEADERS = [
  { name: "From", value: "Bob <bob@example.org>" },
  { name: "Subject", value: "Hello\r\n again" },
  { name: "Content-Type", value: "multipart/mixed; boundary=elsewhere" },
];

function text(mimeType: string, said: string | Buffer, charset = "utf-8"): Part {
  const headers = [{ name: "Content-Type", value: `${mimeType}; charset=${charset}` }];
  return { mimeType, filename: "", headers, body: { data: Buffer.from(said).toString("base64url") } };
}

function multipart(subtype: string, ...parts: Part[]): Part {
  return { mimeType: `multipart/${subtype}`, headers: HEADERS, body: { size: 0 }, parts };
}

async function read(payload: Part): Promise<Mail> {
  const { header, texts, attachments } = splitPayload(payload);
  const facts = { folder: "", labels: [], receivedAt: 0, attachments };
  return readMail(assembleMail(header, texts), facts, { maxBytes: 1000, authservId: undefined });
}

test("header and text", async () => {
  const mail = await read(multipart("mixed", text("text/plain", "Good day.")));
  expect(mail).toMatchObject({ sender: "bob@example.org", subject: "Hello again", body: "Good day." });
});

test("a payload that is the text itself", async () => {
  const mail = await read({ ...text("text/plain", "Alone."), headers: HEADERS.slice(0, 2) });
  expect(mail).toMatchObject({ subject: "Hello again", body: "Alone." });
});

test("of a choice the plain text, else the other", async () => {
  const html = text("text/html", "<p>In <b>HTML</b></p>");
  expect((await read(multipart("alternative", text("text/plain", "Plain"), html))).body).toBe("Plain");
  expect((await read(multipart("alternative", html))).body).toBe("In HTML");
});

test.each([
  ["still in its charset", Buffer.from("Gr\xfc\xdfe", "latin1"), "iso-8859-1", "Grüße"],
  ["in UTF-8, whatever its header says", "Grüße", "iso-8859-1", "Grüße"],
  ["in ASCII, as its header says", "\u001b$B$3$s\u001b(B", "iso-2022-jp", "こん"],
])("a text that Gmail gives %s", async (_, bytes, charset, said) => {
  expect((await read(multipart("mixed", text("text/plain", bytes, charset)))).body).toBe(said);
});

test("everything else is attached, and of an attached mail only itself", async () => {
  const forwarded: Part = {
    ...text("text/plain", "no"),
    mimeType: "message/rfc822",
    filename: "old.eml",
    parts: [text("text/plain", "not ours")],
  };
  const file: Part = { mimeType: "Text/Plain", filename: "notes.txt", body: { attachmentId: "1", size: 7 } };
  const mail = await read(multipart("mixed", text("text/plain", "See."), file, { ...forwarded, body: { size: 9 } }));
  expect(mail.body).toBe("See.");
  expect(mail.attachments).toEqual([
    { name: "notes.txt", type: "text/plain", size: 7 },
    { name: "old.eml", type: "message/rfc822", size: 9 },
  ]);
});

test("a picture that the text shows is not attached, unless it has a name", async () => {
  const headers = [{ name: "Content-ID", value: "<1>" }];
  const picture: Part = { mimeType: "image/png", filename: "", headers, body: { size: 5 } };
  const mail = await read(
    multipart("related", text("text/html", "<img src='cid:1'>"), picture, {
      ...picture,
      filename: "a\r\nb.png",
    }),
  );
  expect(mail.attachments).toEqual([{ name: "a b.png", type: "image/png", size: 5 }]);
});

test("headers without a text", async () => {
  const mail = await read({ mimeType: "multipart/mixed", headers: HEADERS });
  expect(mail).toMatchObject({ subject: "Hello again", body: "", attachments: [] });
});

test("parts within parts without end", async () => {
  let deep = text("text/plain", "never reached");
  for (let depth = 0; depth < 1000; depth++) deep = multipart("mixed", deep);
  expect((await read(deep)).body).toBe("");
});

const { signal } = new AbortController();

/** Gmail's API, except that it answers for mails with this. */
function failing(status: number | undefined): { api: GmailApi; asked: MessageForm[]; mend(): void } {
  const asked: MessageForm[] = [];
  let isMended = false;
  return {
    asked,
    mend: () => (isMended = true),
    api: {
      ...GMAIL,
      async message(id, form) {
        asked.push(form);
        if (form === "headers" || isMended) return { id };
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

test("a mail that Gmail fails over five times comes with its headers alone", async () => {
  const { api, asked } = failing(500);
  expect(await ask(withTries(api), 7)).toEqual([...Array(5).fill("network"), { id: "1" }, { id: "1" }]);
  expect(asked).toEqual([...Array(5).fill("raw"), "headers", "headers"]);
});

test("one that it gives in between is as good as new", async () => {
  const { api, asked, mend } = failing(503);
  const patient = withTries(api);
  await ask(patient, 4);
  mend();
  expect(await ask(patient, 2)).toEqual([{ id: "1" }, { id: "1" }]);
  expect(asked).not.toContain("headers");
});

test.each([undefined, 401, 403, 429])("what is no fault of the mail does not count: %s", async (status) => {
  const { api, asked } = failing(status);
  expect(await ask(withTries(api), 8)).toEqual(Array(8).fill("network"));
  expect(asked).not.toContain("headers");
});
