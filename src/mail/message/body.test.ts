import { describe, expect, test } from "vitest";
import { createMailOfEachKind } from "../../../test/support/mails.ts";
import { encodeBody, encodeText, encodeWords } from "../../../test/support/mails/encode.ts";
import { read } from "../../../test/support/mails/read.ts";
import { TEXTS } from "../../../test/support/mails/texts.ts";

const FROM = "From: ann@example.com\r\n";

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

describe("a missing or wrong charset", () => {
  test.each([
    ["UTF-8 without a label", "", "Grüße", "utf-8"],
    ["UTF-8 declared as ASCII", "Content-Type: text/plain; charset=us-ascii\r\n", "Grüße", "utf-8"],
    ["UTF-8 declared as Latin-1", "Content-Type: text/plain; charset=iso-8859-1\r\n", "Grüße", "utf-8"],
    ["UTF-8 declared as something unknown", "Content-Type: text/plain; charset=x-any\r\n", "Grüße", "utf-8"],
    ["Latin-1 without a label", "", "Grüße", "iso-8859-1"],
    ["Cyrillic, named only in the subject", "Subject: =?koi8-r?Q?=C1?=\r\n", "Привет", "koi8-r"],
  ])("%s", async (_, header, text, charset) => {
    const source = Buffer.concat([Buffer.from(`${FROM}${header}\r\n`), encodeText(text, charset)]);
    expect((await read(source)).body).toBe(text);
  });

  test("raw bytes in a header and in a file name", async () => {
    const source = `${FROM}Subject: Gr\xfc\xdfe\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: application/pdf; name="\xdcbersicht.pdf"\r\n\r\nx\r\n--b--\r\n`;
    const mail = await read(Buffer.from(source, "latin1"));
    expect([mail.subject, mail.attachments[0]?.name]).toEqual(["Grüße", "Übersicht.pdf"]);
  });
});

describe("the text", () => {
  const alternative = (plain: string, html: string) =>
    `${FROM}Content-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\n\r\n${plain}\r\n--b\r\nContent-Type: text/html\r\n\r\n${html}\r\n--b--\r\n`;

  test("is the plain alternative, else the HTML", async () => {
    expect((await read(alternative("plain", "<p>rich</p>"))).body).toBe("plain");
    const text = "The order of 3 apples, 2 pears and a plum was sent on Monday and arrives on Tuesday.";
    const stub = "Your client does not support HTML.";
    expect((await read(alternative(stub, `<p>${text}</p>`))).body).toBe(text);
    const link = `<a href="https://example.com/${"x".repeat(200)}">The order</a> of 3 apples`;
    expect((await read(alternative("The order of 3 apples", link))).body).toBe("The order of 3 apples");
    expect((await read(alternative(" \r\n", "<p>rich</p>"))).body).toBe("rich");
    expect((await read(`${FROM}Content-Type: text/html\r\n\r\n<p>rich</p>`)).body).toBe("rich");
  });

  test("includes the text that a mailing list adds to HTML", async () => {
    const source = `${FROM}Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n<style>p{}</style><p>rich</p><p hidden>not seen</p>\r\n--b\r\n\r\nthe list\r\n--b--\r\n`;
    expect((await read(source)).body).toBe("rich\n\nthe list");
  });

  test("is the plain text if the HTML shows nothing", async () => {
    const source = `${FROM}Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n<p hidden>\r\n--b\r\n\r\nplain\r\n--b--\r\n`;
    expect((await read(source)).body).toBe("plain");
  });

  test("is unwrapped if it is flowed", async () => {
    const flowed = `${FROM}Content-Type: text/plain; format=flowed; delsp=yes\r\n\r\nGlück \r\nwunsch\r\n`;
    expect((await read(flowed)).body).toBe("Glückwunsch");
  });

  test.each([
    ["7bit", " "],
    ["quoted-printable", "=20"],
  ])("keeps its quotes if it is flowed, as %s", async (encoding, space) => {
    const lines = ["Ann wrote:", "> are you", "> free?", "> là", ">> maybe", "I am", "free.", "-- ", "Bob"];
    const written = lines.map((line) => (/[.à]$/.test(line) ? line : line.trimEnd() + space)).join("\r\n");
    const flowed = `${FROM}Content-Type: text/plain; charset=utf-8; format=flowed\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n${written}`;
    expect((await read(flowed)).body).toBe("Ann wrote:\n> are you\n> free?\n> là\n>> maybe\nI am free.\n-- \nBob");
  });

  test("keeps what looks encoded in a flowed mail that is not", async () => {
    const flowed = `${FROM}Content-Type: text/plain; format=flowed\r\n\r\n> x=20\r\n`;
    expect((await read(flowed)).body).toBe("> x=20");
  });

  test.each(["text", "text/markdown", "text/csv; charset=utf-8", "text/x-patch; name=a.patch", "TEXT/Enriched"])(
    "may have the type %s",
    async (type) => {
      const encoded = Buffer.from("Grüße").toString("base64");
      const source = `${FROM}Content-Type: ${type}\r\nContent-Transfer-Encoding: base64\r\n\r\n${encoded}\r\n`;
      expect(await read(source)).toMatchObject({ body: "Grüße", attachments: [] });
    },
  );

  test("and the subject have no invisible characters that a model reads", async () => {
    const hidden = "a\u202e\u2066b\u{e0041}\u{e007f}";
    const mail = await read(`${FROM}Subject: ${hidden}\r\n\r\n${hidden}`);
    expect([mail.subject, mail.body]).toEqual(["ab", "ab"]);
  });

  test("is cut to maxBytes", async () => {
    const source = `${FROM}\r\n${"ü".repeat(20)}`;
    expect(await read(source, { maxBytes: 11 })).toMatchObject({ body: "üüüüü", truncated: true });
    expect(await read(source, { maxBytes: 40 })).toMatchObject({ body: "ü".repeat(20), truncated: false });
  });

  test("describes an invitation", async () => {
    const mails = await createMailOfEachKind();
    const invite = mails.find(({ kind }) => kind === "invite");
    expect((await read(invite?.source ?? "")).body).toContain(
      "What: Planning, second part\nBegins: 2026-11-24 10:00 (Europe/Berlin)",
    );
  });

  test.each([
    ["message/delivery-status", "rfc822"],
    ["message/global-delivery-status", "utf-8"],
  ])("says what became of a mail that bounced, by %s", async (type, kind) => {
    const status = `Reporting-MTA: dns; mx.example\r\n\r\nFinal-Recipient: ${kind}; bob@example.org\r\nAction: failed\r\nStatus: 5.1.1\r\nDiagnostic-Code: smtp; 550 5.1.1\r\n no such user\r\n`;
    const source = `${FROM}Content-Type: multipart/report; report-type=delivery-status; boundary=b\r\n\r\n--b\r\n\r\nSorry.\r\n--b\r\nContent-Type: ${type}\r\n\r\n${status}--b--\r\n`;
    expect((await read(source)).body).toBe(
      "Sorry.\n\nDelivery to bob@example.org: failed, 5.1.1, 550 5.1.1 no such user",
    );
  });

  test("includes a forwarded mail", async () => {
    const source = `${FROM}Content-Type: message/rfc822\r\n\r\nSubject: inner\r\n\r\nfrom within`;
    expect((await read(source)).body).toMatch(/inner[^]*from within/);
  });

  test.each([
    ["the boundary is not declared", "Content-Type: multipart/mixed\r\n", "--b\r\n\r\ntext\r\n--b--\r\n"],
    ["the boundary is wrong", "Content-Type: multipart/mixed; boundary=a\r\n", "--b\r\n\r\ntext\r\n--b--\r\n"],
    ["a part has no end", "Content-Type: multipart/mixed; boundary=b\r\n", "--b\r\n\r\ntext"],
    ["there are no parts", "Content-Type: multipart/mixed; boundary=a\r\n", "text"],
    ["the encoding is broken", "Content-Transfer-Encoding: base64\r\n", "d*G!V4\r\ndA=\r\n"],
    ["the parts are nested too deeply", nestParts(1000), "text"],
  ])("is found although %s", async (_, header, body) => {
    expect((await read(`${FROM}${header}\r\n${body}`)).body).toBe("text");
  });

  test("is empty if there is none", async () => {
    const empty = `${FROM}Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\n--b--\r\n`;
    for (const source of [empty, FROM, `${FROM}\r\n`, ""])
      expect(await read(source)).toMatchObject({ body: "", snippet: "" });
  });
});

describe("the attachments", () => {
  test("inline images count only with a name", async () => {
    const image = (header: string) => `--b\r\nContent-Type: image/png\r\n${header}\r\nabc\r\n`;
    const source = `${FROM}Content-Type: multipart/related; boundary=b\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n<p>text</p>\r\n${image("Content-ID: <a>\r\n")}${image('Content-ID: <b>\r\nContent-Disposition: inline; filename="b.png"\r\n')}--b--\r\n`;
    expect((await read(source)).attachments).toEqual([{ name: "b.png", type: "image/png", size: 4 }]);
  });

  test("names in pieces (RFC 2231), of TNEF and of a mail", async () => {
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

  test("come from the source if it knows them", async () => {
    const attachments = [{ name: "a\r\nb", type: "text/csv", size: 7 }];
    expect((await read(FROM, {}, { attachments })).attachments).toEqual([{ name: "a b", type: "text/csv", size: 7 }]);
  });
});

/** Nested parts without an end. */
function nestParts(depth: number): string {
  return Array.from(
    { length: depth },
    (_, level) => `Content-Type: multipart/mixed; boundary=b${level}\r\n\r\n--b${level}\r\n`,
  ).join("");
}

test("only the first lines of a hostile mail are read", async () => {
  const lines = "a\n".repeat(200_000);
  expect((await read(`${FROM}\r\n${lines}`, { maxBytes: 1_000_000 })).body.length).toBeLessThan(60_000);
});

describe("a text whose charset is not declared, or declared as the runtime does not know it", () => {
  const JAPANESE = "\u001b$B@A5a=q\u001b(B & more";

  test.each([
    ["no type", ""],
    ["no charset", "Content-Type: text/plain\r\n"],
    ["no charset, in base64", "Content-Type: text/plain\r\nContent-Transfer-Encoding: base64\r\n"],
    ["no charset, in HTML", "Content-Type: text/html\r\n"],
    ["ASCII", "Content-Type: text/plain; charset=us-ascii\r\n"],
    ["Microsoft's form", 'Content-Type: text/plain; charset="iso-2022-jp-ms"\r\n'],
    ["a newer form", "Content-Type: text/plain; charset=ISO-2022-JP-2004\r\n"],
  ])("Japanese: %s", async (_, header) => {
    const body = header.includes("base64") ? btoa(JAPANESE) : JAPANESE;
    const mail = await read(`From: ${JAPANESE} <ann@example.com>\r\n${header}\r\n${body}`);
    expect([mail.body, mail.from]).toEqual(["請求書 & more", "請求書 & more <ann@example.com>"]);
  });

  test.each(["utf-7", '"UTF-7"'])("%s", async (charset) => {
    const mail = await read(`${FROM}Content-Type: text/plain; charset=${charset}\r\n\r\nGr+APwA3w-e +- 1 +Jjo`);
    expect(mail.body).toBe("Grüße + 1 ☺");
  });

  test("plus signs of other charsets stay", async () => {
    expect((await read(`${FROM}\r\na+APwA3w- +1-`)).body).toBe("a+APwA3w- +1-");
  });

  const cyrillic = encodeText("Привет", "koi8-r").toString("latin1");
  const pages = ['<meta charset="koi8-r">', '<META http-equiv="Content-Type" content="text/html; charset=KOI8-R">'].map(
    (meta) => `<html><head>${meta}</head><p>${cyrillic}</p></html>`,
  );

  test.each(pages.flatMap((page) => ["8bit", "base64", "quoted-printable"].map((encoding) => [encoding, page])))(
    "HTML that names it, in %s: %s",
    async (encoding, page) => {
      const part = `Content-Type:\r\n text/html\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n`;
      const body = encodeBody(Buffer.from(page, "latin1"), encoding).toString("latin1");
      expect((await read(Buffer.from(`${FROM}${part}${body}`, "latin1"))).body).toBe("Привет");
      const parts = `Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n${part}${body}\r\n--b--\r\n`;
      expect((await read(Buffer.from(`${FROM}${parts}`, "latin1"))).body).toBe("Привет");
    },
  );
});
