import { describe, expect, test } from "vitest";
import { read } from "../../../test/support/mails/read.ts";

const FROM = "From: ann@example.com\r\n";

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
    ["10,000 parts within each other", `${FROM}${nestParts(10_000)}\r\ntext`],
    ["parentheses", `${FROM}Content-Type: ${"(".repeat(60_000)}\r\nTo: ${"(".repeat(60_000)}\r\n\r\ntext`],
    [
      "control characters",
      `${FROM}Subject: \u0007\u001b[31m\u009b\r\nMessage-ID: <a\u0000b>\r\n\r\n\u0000\u0008text\ud800`,
    ],
  ])("%s", async (_, source) => {
    const mail = await read(source);
    expect(JSON.stringify(mail)).not.toMatch(/\\u(?:00[01]|007f|008|009|d[89a-f])/i);
    expect(/[\p{Cc}--[\n\t]]/v.test([mail.subject, mail.from, mail.body, mail.id].join(""))).toBe(false);
    expect(Buffer.byteLength(mail.body)).toBeLessThanOrEqual(20_000);
    expect(mail.to.length).toBeLessThanOrEqual(100);
    expect(mail.sender).toBe("ann@example.com");
  });
});

function nestParts(depth: number): string {
  return Array.from(
    { length: depth },
    (_, level) => `Content-Type: multipart/mixed; boundary=b${level}\r\n\r\n--b${level}\r\n`,
  ).join("");
}
