import { describe, expect, test } from "vitest";
import { toMailId, toMessageId } from "./identity.ts";

const HEADER =
  "Message-ID: <a@example.com>\r\nFrom: Ann <ann@example.com>\r\nDate: Fri, 20 Nov 2026\r\nSubject: Hello\r\n";

describe("toMailId", () => {
  const idOf = (header: string, size = 100): string | undefined => toMailId(Buffer.from(header, "latin1"), size);

  test("is the Message-ID and a digest", () => {
    expect(idOf(HEADER)).toMatch(/^a@example\.com#[0-9a-f]{16}$/);
  });

  test.each([
    ["sender", HEADER.replace("Ann ", "Eve "), 100],
    ["date", HEADER.replace("20", "21"), 100],
    ["subject", HEADER.replace("Hello", "Help"), 100],
    ["size", HEADER, 101],
  ])("is another one with another %s", (_, header, size) => {
    expect(idOf(header, size)).not.toBe(idOf(HEADER));
  });

  test.each([
    ["other fields are there", `Received: x\r\n${HEADER}Cc: Grü\xdfe\r\n\r\n`],
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
    expect(toMessageId(`<${"x".repeat(511)}🚀@example.com>`)).toBe("x".repeat(511));
  });
});
