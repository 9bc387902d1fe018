import { describe, expect, test } from "vitest";
import { readHeader, splitHeader, toMailId, toMessageId } from "./header.ts";

const read = (block: string) => readHeader(Buffer.from(block, "latin1"), "windows-1252");

test("values are unfolded, names are case-insensitive", () => {
  const header = read("SUBJECT: a\r\n b\r\n\tc\r\nTo : x@example.com\r\nto:y@example.com");
  expect(header.value("subject")).toBe("a b\tc");
  expect(header.values("to")).toEqual(["x@example.com", "y@example.com"]);
  expect(header.values("cc")).toEqual([]);
});

test("the first value that is not empty counts", () => {
  expect(read("Subject:\r\nSubject: a\r\nSubject: b\r\n").value("subject")).toBe("a");
});

test("raw bytes are decoded with the guessed charset", () => {
  expect(read("Subject: Gr\xfc\xdfe\r\n").value("subject")).toBe("Grüße");
});

test("the fields about the encoding of the body are separate, each with a line end", () => {
  const header = read("Mime-Version: 1.0\r\nX-Other: 1\r\nContent-Type: text/plain;\r\n charset=utf-8");
  expect(header.content.toString()).toBe("Mime-Version: 1.0\r\nContent-Type: text/plain;\r\n charset=utf-8\n");
});

test("a hostile header is bounded", () => {
  const header = read(`Subject: ${"a".repeat(1_000_000)}\r\n${"To: a@example.com\r\n".repeat(100_000)}`);
  expect(header.value("subject").length).toBeLessThan(70_000);
  expect(header.values("to")).toHaveLength(50);
});

test("the first line of an mbox entry is ignored", () => {
  expect(read("From ann@example.com Fri Nov 20 10:00:00 2026\nSubject: a\n").value("subject")).toBe("a");
});

test("a byte order mark before the first field is ignored", () => {
  expect(read("\xef\xbb\xbfSubject: a\n").value("subject")).toBe("a");
});

test.each([
  ["an empty line", "A: b\r\nC: d\r\n\r\ntext\r\n\r\nmore", "A: b\r\nC: d\r\n", "text\r\n\r\nmore"],
  ["bare line feeds", "A: b\n\ntext", "A: b\n", "text"],
  ["a line that is not a field", "A: b\r\nflaw\r\nSubject: x\r\n\r\ntext", "A: b\r\nflaw\r\nSubject: x\r\n", "text"],
  ["a line of blanks", "A: b\r\n \t\r\ntext\r\n\r\nmore", "A: b\r\n", "text\r\n\r\nmore"],
  ["a folded line of blanks", "A: b\n \n c\n \nD: e\n\ntext", "A: b\n \n c\n \nD: e\n", "text"],
  ["no body", "A: b", "A: b", ""],
  ["no header", "\r\ntext", "", "text"],
  ["nothing", "", "", ""],
])("%s", (_, source, block, body) => {
  const split = splitHeader(Buffer.from(source));
  expect([split.block.toString(), split.body.toString()]).toEqual([block, body]);
});

const HEADER =
  "Message-ID: <a@example.com>\r\nFrom: Ann <ann@example.com>\r\nDate: Fri, 20 Nov 2026\r\nSubject: Hello\r\n";

describe("toMailId", () => {
  const idOf = (block: string, size = 100, body = "Text", attachments: object[] = []): string | undefined =>
    toMailId({ header: read(block), body: Buffer.from(body), size, attachments });

  test("is the Message-ID and a digest", () => {
    expect(idOf(HEADER)).toMatch(/^a@example\.com#[0-9a-f]{16}$/);
  });

  test.each<[what: string, block: string, size: number, body?: string, attachments?: object[]]>([
    ["sender", HEADER.replace("Ann ", "Eve "), 100],
    ["date", HEADER.replace("20", "21"), 100],
    ["subject", HEADER.replace("Hello", "Help"), 100],
    ["size", HEADER, 101],
    ["body", HEADER, 100, "Test"],
    ["attachment", HEADER, 100, "Text", [{ name: "order.pdf" }]],
    // oxlint-disable-next-line eslint/max-params -- A row of the table.
  ])("is another one with another %s", (_, block, size, body, attachments) => {
    expect(idOf(block, size, body, attachments)).not.toBe(idOf(HEADER));
  });

  test.each([
    ["other fields are there", `Received: x\r\n${HEADER}Cc: Grü\xdfe\r\n`],
    ["a field is folded elsewhere", HEADER.replace("Ann ", "Ann\r\n\t")],
  ])("is the same where %s", (_, header) => {
    expect(idOf(header)).toBe(idOf(HEADER));
  });

  test("stays short, and tells long Message-IDs apart by their ends", () => {
    const [one, other] = ["1", "2"].map((end) => idOf(`Message-ID: <${"x".repeat(400)}${end}>\r\n`));
    expect(one?.length).toBeLessThan(200);
    expect(one).not.toBe(other);
  });

  test("needs a Message-ID", () => {
    expect(idOf("Subject: Hello\r\n")).toBeUndefined();
  });
});

describe("toMessageId", () => {
  test.each([
    ["<a.1@example.com>", "a.1@example.com"],
    ["  <a.1@example.com> (comment)", "a.1@example.com"],
    ["<first@example.com> <second@example.com>", "first@example.com"],
    ["no-brackets@example.com", "no-brackets@example.com"],
    ["<with space@example.com>", "with space@example.com"],
    ["<a\u0000b\u0007@example.com>", "ab@example.com"],
    ["<>", undefined],
    ["", undefined],
  ])("%j is %j", (header, id) => {
    expect(toMessageId(header)).toBe(id);
  });

  test("is bounded and well-formed", () => {
    expect(toMessageId(`<${"x".repeat(979)}🚀@example.com>`)).toBe("x".repeat(979));
  });
});
