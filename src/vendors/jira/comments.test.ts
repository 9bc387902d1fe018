import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { isAdf, shownAdf } from "../../../test/support/adf.ts";
import { startComments } from "../../../test/support/comment-server.ts";
import { jira, shownJira } from "../../../test/support/comment-services.ts";
import { describeComments, TOKEN } from "../../../test/support/comment-suite.ts";
import { startJsonServer } from "../../../test/support/json-server.ts";
import * as fc from "../../../test/support/property.ts";
import { failureOf } from "../../contracts/harness.ts";
import { type AdfNode, createJira, toAdf, toPlainAdf } from "./comments.ts";

const never = new AbortController().signal;
const hello = { to: "SHOP-12", text: "Hello.", idempotencyKey: "d:0" };
const open = (baseUrl: string) => createJira({ token: TOKEN, email: "agent@acme.test", baseUrl });

describeComments("jira", {
  service: jira,
  open,
  to: "SHOP-12",
  thread: "SHOP-12/internal",
  unknown: "SHOP-99",
  malformed: ["", "shop-12", "SHOP", "SHOP-0", "10012", "SHOP-12/public", "SHOP-12/../SHOP-1", "S-1"],
  raw: expect.stringMatching(/"text":"\u2063\u2063[\u200B-\u200D\u2060]{32}"\},\{"type":"text","text":"Hello @ada\."/),
  toText: shownJira,
});

test("a reply's Markdown becomes a document, whose first text is the mark", async () => {
  const server = await startComments(jira);
  for (const text of ["It is **done**.", "```\ncode\n```"]) {
    await open(server.baseUrl).send({ ...hello, text, format: "markdown" }, never);
  }
  const mark = { type: "text", text: expect.stringMatching(/^\u2063\u2063/) };
  expect(server.texts().map((text) => JSON.parse(text).content)).toEqual([
    [
      {
        type: "paragraph",
        content: [
          mark,
          { type: "text", text: "It is " },
          { type: "text", text: "done", marks: [{ type: "strong" }] },
          { type: "text", text: "." },
        ],
      },
    ],
    [
      { type: "paragraph", content: [mark] },
      { type: "codeBlock", content: [{ type: "text", text: "code" }] },
    ],
  ]);
  await server.close();
});

test("a comment that customers do not see has the property of an internal one", async () => {
  const bodies: unknown[] = [];
  const server = await startJsonServer(({ body }) => {
    bodies.push(body["properties"]);
    return { status: 201, body: { id: "7" } };
  });
  for (const to of ["SHOP-12", "SHOP-12/internal"]) {
    expect(await open(server.url).send({ ...hello, to }, never)).toEqual({ messageId: "comment_7" });
  }
  expect(bodies).toEqual([undefined, [{ key: "sd.public.comment", value: { internal: true } }]]);
  await server.close();
});

test("without an address the token is a bearer, and the reason of a refusal is shown", async () => {
  const server = await startJsonServer(({ headers }) => ({
    status: 400,
    body: { errorMessages: [], errors: { comment: `No ${headers.authorization?.split(" ")[0]}.` } },
  }));
  const error = await failureOf(createJira({ token: "t", baseUrl: server.url }).send(hello, never));
  expect([error.message, error.retryable]).toEqual(["Jira answered 400: No Bearer.", false]);
  await server.close();
});

const text = (value: string, ...marks: string[]): AdfNode => ({
  type: "text",
  text: value,
  ...(marks.length > 0 && { marks: marks.map((type) => ({ type })) }),
});
const paragraph = (...content: AdfNode[]): AdfNode => ({ type: "paragraph", content });
const cell = (type: string, ...content: AdfNode[]): AdfNode => ({ type, content: [paragraph(...content)] });
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
  ["```\na\n\nb\n```", [{ type: "codeBlock", content: [text("a\n\nb")] }]],
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
  ["```ts\nx\n```", [{ type: "codeBlock", attrs: { language: "ts" }, content: [text("x")] }]],
  [
    "|a|**b**|\n|-|-|\n|`1`||",
    [
      {
        type: "table",
        content: [
          { type: "tableRow", content: [cell("tableHeader", text("a")), cell("tableHeader", text("b", "strong"))] },
          { type: "tableRow", content: [cell("tableCell", text("1", "code")), cell("tableCell")] },
        ],
      },
    ],
  ],
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
    { numRuns: 100 },
  );
  const quote = { type: "blockquote", content: [{ type: "blockquote", content: [paragraph()] }] };
  expect(isAdf({ version: 1, type: "doc", content: [quote] })).toBe(false);
});

test("so does the README", async () => {
  const readme = readFileSync(path.join(import.meta.dirname, "../../../README.md"), "utf8");
  expect(isAdf(await toAdf(readme))).toBe(true);
});
