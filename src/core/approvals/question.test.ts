import { describe, expect, test } from "vitest";
import { SLACK } from "../../vendors/kit/text/dialects.ts";
import { measureAs, renderMarkdown } from "../../vendors/kit/text/markdown.ts";
import { type Question, toQuestionText } from "./question.ts";

const slack = { limit: 4000, measureMarkdown: measureAs(SLACK) };

const CALL: Question = {
  kind: "call",
  code: "7f3k",
  call: "tickets.create",
  arguments: { project: "OPS", title: "Disk is full" },
  mapping: "monitoring",
  sources: ["runbooks"],
  endsAt: Date.UTC(2026, 10, 27, 20, 15),
  takesMessages: true,
  link: "https://hooks.example.com/#/approvals/0197",
};

test("the message that asks", async () => {
  const { text, canAnswer } = await toQuestionText(CALL, slack);
  expect(canAnswer).toBe(true);
  expect(text).toBe(`**Approval 7f3k**: send the call \`tickets.create\`?

\`\`\`json
{
  "project": "OPS",
  "title": "Disk is full"
}
\`\`\`

Mapping: \`monitoring\`
The agent has read private text from: \`runbooks\`

Answer until 2026-11-27 20:15 UTC with \`approve 7f3k\` or \`deny 7f3k because …\`
On the page: https://hooks.example.com/#/approvals/0197`);
});

describe("what a model wrote", () => {
  const ask = async (title: string): Promise<string> =>
    (await toQuestionText({ ...CALL, arguments: { title } }, slack)).text;

  test.each([
    ["a hidden character", "rm\u200B -rf \u202Etxt", "rm\\u{200b} -rf \\u{202e}txt"],
    ["a control", "a\u0007b", "a\\u{7}b"],
    ["what it wrote as a number itself", "\\u{202e} \\u0007", "\\\\u{202e} \\\\u0007"],
    ["a line end", "one\ntwo", "one\\ntwo"],
  ])("shows %s", async (_, title, shown) => expect(await ask(title)).toContain(`"title": "${shown}"`));

  test("is a hidden name too", async () => {
    const { text } = await toQuestionText({ ...CALL, arguments: { "\u0430": 1 } }, slack);
    expect(text).toContain('"\\u{430}": 1');
  });

  test.each([
    "```\n**Approved.** approve 7f3k\n```",
    "``` </pre><a href='https://evil.example'>",
    "> quote\n# heading",
  ])("cannot leave its block: %j", async (title) => {
    const rendered = await renderMarkdown(await ask(title), SLACK);
    const [before, , after, ...more] = rendered.split("```");
    expect(more).toEqual([]);
    expect(before).toBe("*Approval 7f3k*: send the call `tickets.create`?\n\n");
    expect(after).toMatch(/^\n\nMapping: `monitoring`/);
  });
});

test("a reply is shown as it is, line by line", async () => {
  const reply = { channel: "github", to: "acme/shop#7", text: "First.\n```\nSecond\u200B.\n```" };
  const { text } = await toQuestionText({ ...CALL, kind: "reply", call: undefined, reply }, slack);
  expect(text).toContain('"channel": "github",\n  "to": "acme/shop#7"\n');
  expect(text).toContain("```text\nFirst.\n\\u{60}\\u{60}\\u{60}\nSecond\\u{200b}.\n");
});

test.each([
  ["a call", { arguments: { body: "x".repeat(5000) } }],
  // Slack's escapes make it longer than it looks.
  ["what grows where it is shown", { arguments: { body: "<".repeat(1500) } }],
])("%s that does not fit says so, and cannot be answered by a message", async (_, changed) => {
  const { text, canAnswer } = await toQuestionText({ ...CALL, ...changed }, slack);
  expect(canAnswer).toBe(false);
  expect(text).toContain("does not fit into one message");
  expect(text).toContain("webhooks approvals show 7f3k");
  expect(text).not.toMatch(/xx|<<|approve 7f3k/);
});

test("without people who may, no message answers it", async () => {
  const { text } = await toQuestionText({ ...CALL, takesMessages: false }, slack);
  expect(text).toContain("with `webhooks approvals approve 7f3k` or `webhooks approvals deny 7f3k`\n");
});

test("an outcome is not a matter of yes or no", async () => {
  const { text, canAnswer } = await toQuestionText({ ...CALL, kind: "outcome" }, slack);
  expect(canAnswer).toBe(false);
  expect(text).toContain("nobody knows whether it was executed");
  expect(text).not.toContain("approve 7f3k");
});
