import { expect, test } from "vitest";
import { assembleMail } from "./assemble-mail.ts";
import { readMail } from "./read-mail.ts";

const HEADER =
  "Subject: pieces\r\nContent-Type: multipart/alternative; boundary=old\r\nContent-Transfer-Encoding: base64\r\nMessage-ID: <a@example.com>";
const PLAIN =
  "Content-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nGr=FC=DFe";
const HTML = `Content-Type: text/html\r\nContent-Transfer-Encoding: base64\r\n\r\n${Buffer.from("<p>two</p>").toString("base64")}`;

test.each(["\r\n\r\n", "\r\n", ""])("a header that ends in %j and its texts are a mail", async (end) => {
  expect(await read(HEADER + end, [PLAIN, HTML])).toMatchObject({
    id: "a@example.com",
    subject: "pieces",
    body: "Grüße\n\n\ntwo",
    attachments: [],
  });
});

test("the last text may be cut", async () => {
  expect(await read(HEADER, [HTML.slice(0, -6)])).toMatchObject({ body: expect.stringMatching(/^tw/) });
});

test("there may be no text", async () => {
  expect(await read(`${HEADER}\r\n\r\n`, [])).toMatchObject({ subject: "pieces", body: "", attachments: [] });
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
