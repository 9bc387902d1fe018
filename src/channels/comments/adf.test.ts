import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { isAdf, shownAdf } from "../../../test/support/adf.ts";
import * as fc from "../../../test/support/property.ts";
import { type AdfNode, toAdf, toPlainAdf } from "./adf.ts";

const text = (value: string, ...marks: string[]): AdfNode => ({
  type: "text",
  text: value,
  ...(marks.length > 0 && { marks: marks.map((type) => ({ type })) }),
});
const paragraph = (...content: AdfNode[]): AdfNode => ({ type: "paragraph", content });
const item = (...content: AdfNode[]): AdfNode => ({ type: "listItem", content });
const link = (href: string): AdfNode => ({ type: "text", text: href, marks: [{ type: "link", attrs: { href } }] });

test.each<[string, AdfNode[]]>([
  ["It is **done**.", [paragraph(text("It is "), text("done", "strong"), text("."))]],
  [
    "*a **b** ~~c~~*",
    [paragraph(text("a ", "em"), text("b", "strong", "em"), text(" ", "em"), text("c", "strike", "em"))],
  ],
  ["**run `npm ci`**", [paragraph(text("run ", "strong"), text("npm ci", "code"))]],
  ["one\ntwo", [paragraph(text("one"), { type: "hardBreak" }, text("two"))]],
  ["# Title\n\nText", [paragraph(text("Title", "strong")), paragraph(text("Text"))]],
  ["```js\na\n\nb\n```", [{ type: "codeBlock", content: [text("a\n\nb")] }]],
  ["```\n```", [{ type: "codeBlock", content: [] }]],
  [
    "- a\n- b\n  1. c",
    [
      {
        type: "bulletList",
        content: [
          item(paragraph(text("a"))),
          item(paragraph(text("b")), { type: "orderedList", content: [item(paragraph(text("c")))] }),
        ],
      },
    ],
  ],
  [
    "- - a",
    [
      {
        type: "bulletList",
        content: [item(paragraph(), { type: "bulletList", content: [item(paragraph(text("a")))] })],
      },
    ],
  ],
  ["- > a", [{ type: "bulletList", content: [item(paragraph(text("a")))] }]],
  ["> > a\n\nb", [{ type: "blockquote", content: [paragraph(text("a"))] }, paragraph(text("b"))]],
  ["[see](https://x.test/1)", [paragraph(text("see"), text(" ("), link("https://x.test/1"), text(")"))]],
  ["![a](https://x.test/1.png)", [paragraph(text("a "), text("https://x.test/1.png", "code"))]],
  ["[x](javascript:alert(1))", [paragraph(text("x"), text(" ("), text("javascript:alert(1)"), text(")"))]],
  ["<b>x</b> [~ada] @ada", [paragraph(text("<b>"), text("x"), text("</b>"), text(" [~ada] @ada"))]],
])("%j", async (markdown, content) => {
  const document = await toAdf(markdown);
  expect(document).toEqual({ version: 1, type: "doc", content });
  expect(isAdf(document)).toBe(true);
});

test("a plain text is shown as it is, without the characters that XML does not have", () => {
  const document = toPlainAdf("**a**\r\n\n\u0000\u0008b");
  expect(document.content).toEqual([paragraph(text("**a**"), { type: "hardBreak" }, { type: "hardBreak" }, text("b"))]);
  expect(shownAdf(document)).toBe("**a**\n\nb");
});

test("every Markdown gives a document that Atlassian's schema accepts", async () => {
  const pieces = [
    "- ",
    "1. ",
    "> ",
    "# ",
    "```",
    "\n",
    "\n\n",
    "  ",
    "**",
    "_",
    "`",
    "[a](https://x.test)",
    "![",
    "](",
    "|a|b|\n|-|-|\n",
    "<b>",
    "---",
    "a",
    "\u0001",
    "\\",
    "~~",
  ];
  const markdown = fc.array(fc.constantFrom(...pieces), { maxLength: 30 }).map((parts) => parts.join(""));
  await fc.assert(
    fc.asyncProperty(markdown, async (reply) => {
      expect(isAdf(await toAdf(reply))).toBe(true);
    }),
    { numRuns: 300 },
  );
  const quote = { type: "blockquote", content: [{ type: "blockquote", content: [paragraph()] }] };
  expect(isAdf({ version: 1, type: "doc", content: [quote] })).toBe(false);
});

test("so does the README", async () => {
  const readme = readFileSync(path.join(import.meta.dirname, "../../../README.md"), "utf8");
  expect(isAdf(await toAdf(readme))).toBe(true);
});
