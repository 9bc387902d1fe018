import { describe, expect, test } from "vitest";
import { createSign } from "../../../core/shared/secret.ts";
import { hasOwnMark, toHtmlMark, toInvisibleMark, toLinkMark, toMarkedId } from "./mark.ts";

const sign = createSign(Buffer.from("key"));
const others = createSign(Buffer.from("another key"));
const marked = { idempotencyKey: "0192c0de-1b2c-7d3e-8f40-5a6b7c8d9e0f:0", sign };

describe.each([
  ["a comment in HTML", (text: string) => `${text}\n\n${toHtmlMark(marked, text)}`],
  ["a definition of a link", (text: string) => `${text}\n\n${toLinkMark(marked, text)}`],
  ["invisible characters", (text: string) => `${toInvisibleMark(marked)}${text}`],
  ["an id", () => toMarkedId(marked)],
])("the mark as %s", (_form, write) => {
  const comment = write("Since 2.4.0.\n\nSee `x`.");

  test("is the same each time, and counts", () => {
    expect(write("Since 2.4.0.\n\nSee `x`.")).toBe(comment);
    expect(hasOwnMark(comment, sign)).toBe(true);
    expect(hasOwnMark(` ${comment.replaceAll("\n", "\r\n")} \r\n`, sign)).toBe(true);
  });

  test("of another store does not count", () => expect(hasOwnMark(comment, others)).toBe(false));
});

test.each([
  ["a comment without a mark", "Since 2.4.0."],
  ["nothing", ""],
  ["a mark without a signature", "x\n\n<!-- hookline:d:0 -->"],
  ["a mark of nobody", `x\n\n${toHtmlMark({ ...marked, sign: undefined }, "x")}`],
  ["a mark below another text", `y\n\n${toHtmlMark(marked, "x")}`],
  ["a mark that a text follows", `x\n\n${toHtmlMark(marked, "x")}\n\ny`],
  ["a mark with another name", `x\n\n${toHtmlMark(marked, "x").replace("0192", "0193")}`],
  ["an invisible mark without a signature", toInvisibleMark({ ...marked, sign: undefined })],
  ["an id of somebody else", toMarkedId({ ...marked, sign: undefined })],
])("%s does not count", (_what, comment) => expect(hasOwnMark(comment, sign)).toBe(false));
