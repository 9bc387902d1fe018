import { expect, test } from "vitest";
import { splitHeader } from "./split-header.ts";

test.each([
  ["an empty line", "A: b\r\nC: d\r\n\r\ntext\r\n\r\nmore", "A: b\r\nC: d\r\n", "text\r\n\r\nmore"],
  ["bare line feeds", "A: b\n\ntext", "A: b\n", "text"],
  ["bare carriage returns", "A: b\r\rtext\rmore", "A: b\n", "text\nmore"],
  ["no empty line", "A: b\r\n c\r\nThis is text\r\n\r\nmore", "A: b\r\n c\r\n", "This is text\r\n\r\nmore"],
  [
    "a flaw in the header",
    "A: b\r\nflaw\r\nSubject: x\r\n\r\ntext",
    "A: b\r\nflaw\r\nSubject: x\r\n",
    "text",
  ],
  ["the line of an mbox", "From ann@example.com Fri Nov 20\nA: b\n\ntext", "A: b\n", "text"],
  ["no body", "A: b", "A: b", ""],
  ["no header", "\r\ntext", "", "text"],
  ["nothing", "", "", ""],
])("%s", (_, source, block, body) => {
  const split = splitHeader(Buffer.from(source));
  expect([split.block.toString(), split.body.toString()]).toEqual([block, body]);
});
