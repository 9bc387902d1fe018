import { expect, test } from "vitest";
import { readHeader } from "./read-header.ts";

const read = (block: string) => readHeader(Buffer.from(block, "latin1"), "windows-1252");

test("values are unfolded, and found in any case", () => {
  const header = read("SUBJECT: a\r\n b\r\n\tc\r\nTo : x@example.com\r\nto:y@example.com");
  expect(header.value("subject")).toBe("a b\tc");
  expect(header.values("to")).toEqual(["x@example.com", "y@example.com"]);
  expect(header.values("cc")).toEqual([]);
});

test("the first value that says something counts", () => {
  expect(read("Subject:\r\nSubject: a\r\nSubject: b\r\n").value("subject")).toBe("a");
});

test("raw eight bits are read as the charset that is guessed", () => {
  expect(read("Subject: Gr\xfc\xdfe\r\n").value("subject")).toBe("Grüße");
});

test("what says how the body is encoded is kept apart, each field with its end", () => {
  const header = read("Mime-Version: 1.0\r\nX-Other: 1\r\nContent-Type: text/plain;\r\n charset=utf-8");
  expect(header.content.toString()).toBe(
    "Mime-Version: 1.0\r\nContent-Type: text/plain;\r\n charset=utf-8\n",
  );
});

test("a hostile header is bounded", () => {
  const header = read(`Subject: ${"a".repeat(1_000_000)}\r\n${"To: a@example.com\r\n".repeat(100_000)}`);
  expect(header.value("subject").length).toBeLessThan(70_000);
  expect(header.values("to")).toHaveLength(50);
});
