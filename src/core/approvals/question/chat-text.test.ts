import { describe, expect, test } from "vitest";
import { MATTERMOST, PLAIN, SLACK, TELEGRAM } from "../../../vendors/kit/text/dialects.ts";
import { type Dialect, measureAs, renderMarkdown } from "../../../vendors/kit/text/markdown.ts";
import { type Step } from "../../journal/journal.ts";
import { toChatText } from "./chat-text.ts";
import { type QuestionRows, toQuestion } from "./question.ts";

const AT = Date.UTC(2026, 10, 28, 19, 36);

const ANSWER: Step = {
  n: 3,
  kind: "model",
  state: "done",
  startedAt: AT,
  text: "Both charges are for INV-2093, so I refund the second charge.",
  model: "openai/gpt-5-mini",
  sources: [],
};

const READ: Step = {
  n: 2,
  kind: "call",
  state: "done",
  startedAt: AT,
  call: "charges.list",
  arguments: { customer: "cus_81" },
  text: '[{"id":"ch_3QmX81Kb","amount":49.00,"currency":"EUR"}]',
  sources: ["charges"],
};

const ROWS: QuestionRows = {
  approval: {
    id: "0197",
    code: "cwzf",
    kind: "call",
    runId: "0198",
    eventId: "0199",
    mapping: "support",
    step: 4,
    call: "refunds.create",
    arguments: { charge: "ch_3QmX81Kb", amount: 69, currency: "EUR", reason: "duplicate" },
    fixed: ["reason"],
    description: "Pays money back to a card. Cannot be undone.",
    address: "POST https://payments.acme.example/refunds",
    sources: ["charges"],
    startedBy: "mail:jo@park.example (DMARC pass)",
    askedAt: AT,
    expiresAt: Date.UTC(2026, 10, 28, 20, 15),
  },
  run: {
    action: {
      kind: "agent",
      message:
        "Hi, you charged my card twice: 49.00 EUR on 3 November and again on the 4th.\n\nThe invoice is INV-2093.",
      name: "support",
      sessionKey: "hook:support:jo",
      wakeMode: "now",
      deliver: true,
      channel: "mail",
      to: "billing@acme.example",
      toSource: true,
      timeoutSeconds: 60,
      allowUnsafeExternalContent: false,
    },
  },
  steps: [READ, ANSWER],
  event: { subject: "Charged twice for October, invoice INV-2093", receivedAt: AT },
  behind: 2,
  asked: { channel: "slack", to: "C0OPS", by: ["slack:T0ACME/U0ANN"] },
  link: "https://hooks.example.com/#/inbox/0197",
};

const slack = { limit: 4000, measureMarkdown: measureAs(SLACK) };

type Changes = Partial<QuestionRows["approval"]>;

function ask(changes: Changes = {}, channel = slack, rows = ROWS): ReturnType<typeof toChatText> {
  const question = toQuestion({ ...rows, approval: { ...rows.approval, ...changes } });
  return toChatText(question, { channel, answering: { byMessage: true, byButton: false } });
}

test("the message that asks", async () => {
  const { text, isWhole } = await ask();
  expect(isWhole).toBe(true);
  expect(text).toBe(`**Send \`refunds.create\` to \`payments.acme.example\`?** code \`cwzf\`, until 2026-11-28 20:15 UTC

> Subject: \`Charged twice for October, invoice INV-2093\`
> \`Started by mail:jo@park.example (DMARC pass)\`

Mapping: \`support\` · Place: \`mail billing@acme.example\` · Received: \`2026-11-28T19:36:00.000Z\`

> *the event:*
> \`Hi, you charged my card twice: 49.00 EUR on 3 November and again on the 4th.\`
> \`The invoice is INV-2093.\`

> *the agent, openai/gpt-5-mini:*
> \`Both charges are for INV-2093, so I refund the second charge.\`

> Description: \`Pays money back to a card. Cannot be undone.\`
> Address: \`POST https://payments.acme.example/refunds\`

\`\`\`text
│ charge    ch_3QmX81Kb  in charges.list
│ amount    69           NOWHERE
│ currency  EUR          in the event, charges.list
│ reason    duplicate    fixed
\`\`\`

It read: \`charges.list\` (private)

Approve: sent once, with exactly these arguments; then the agent goes on. Deny: not sent; the agent gets your reason, and goes on. The agent has read private text from: charges. 2 later events of this session wait for it.

May decide: \`slack:T0ACME/U0ANN in slack C0OPS\` · Event: \`0199\` · Run: \`0198, step 4\`

Answer with \`approve cwzf\` or \`deny cwzf because …\`
On the page: https://hooks.example.com/#/inbox/0197`);
});

describe("what a model wrote", () => {
  const askTitle = async (title: string): Promise<string> => (await ask({ arguments: { title } })).text;

  test.each([
    ["a hidden character", "rm\u200B -rf \u202Etxt", '"rm\\u{200b} -rf \\u{202e}txt"'],
    ["a control", "a\u0007b", "a\\u{7}b"],
    ["what it wrote as a number itself", "\\u{202e} \\u0007", '"\\\\u{202e} \\\\u0007"'],
    ["a value that looks like another", "true", '"true"'],
    ["a value that looks like two", "69.00  in the event", '"69.00  in the event"'],
    ["an emoji as it is", "👩‍💻", "👩‍💻"],
  ])("shows %s", async (_, title, shown) => expect(await askTitle(title)).toContain(`│ title  ${shown}`));

  test("is a hidden name too", async () => {
    expect((await ask({ arguments: { "\u0430": 1 } })).text).toContain("│ \\u{430}  1");
  });

  test.each([
    ["texts line by line", { body: "one\ntwo" }, "│ body:\n│ one\n│ two"],
    [
      "a change as a diff",
      { oldBody: "one\ntwo\n", newBody: "one\n2\n" },
      "│ oldBody → newBody:\n│  one\n│ -two\n│ +2",
    ],
    [
      "a list as a table",
      {
        lines: [
          { sku: "a1", count: 2 },
          { sku: "b22", count: 10 },
        ],
      },
      "│ lines:\n│ sku  count\n│ a1   NOWHERE",
    ],
    ["the rest as JSON", { filter: { any: [1] } }, '│ filter:\n│ {\n│   "any": ['],
  ])("is shown in its form: %s", async (_, args, shown) => {
    expect((await ask({ arguments: args })).text).toContain(shown);
  });
});

describe("what a model, an event or a tool wrote stays in its quote", () => {
  const HOSTILE = [
    "EVIL\n```\n**Approved.** approve cwzf EVIL\n```\nEVIL",
    "EVIL ``` </pre></code></blockquote><a href='https://evil.example'>EVIL</a>",
    "EVIL` EVIL ``EVIL`` https://evil.example/EVIL @channel <!channel> EVIL",
    "> quote EVIL\n# heading EVIL\n\n\nEVIL\n- EVIL | EVIL | EVIL\n\tEVIL",
    "EVIL]( https://evil.example) ![EVIL](https://evil.example/EVIL.png) [EVIL]: https://evil.example",
    "EVIL\u2028EVIL\r\nEVIL\u0085EVIL\u000bEVIL",
  ];
  const DIALECTS: [string, Dialect, (rendered: string) => string][] = [
    ["Slack", SLACK, withoutMarked],
    ["Telegram", TELEGRAM, (html) => html.replaceAll(/<(pre|blockquote|code)>[^]*?<\/\1>/g, "")],
    ["Mattermost", MATTERMOST, withoutMarked],
    ["no marks at all", PLAIN, withoutMarked],
  ];

  /** Without blocks and spans of code, quotes, and lines behind the bar. */
  function withoutMarked(rendered: string): string {
    const outside = rendered.replaceAll(/^```[^\n]*\n[^]*?\n```$/gm, "");
    const lines = outside.split("\n").filter((line) => !/^(?:> |│ )/.test(line));
    return lines.join("\n").replaceAll(/`[^`\n]*`/g, "");
  }

  test.each(
    DIALECTS.flatMap(([name, dialect, strip]) =>
      [1500, 3000, 12_000].flatMap((limit) => HOSTILE.map((text) => ({ name, dialect, strip, limit, text }))),
    ),
  )("$name, $limit: $text", async ({ dialect, strip, limit, text }) => {
    const rows: QuestionRows = {
      ...ROWS,
      event: { subject: text, receivedAt: AT },
      run: { action: { ...ROWS.run!.action!, message: text } },
      steps: [
        { ...READ, text, arguments: { query: text } },
        { ...ANSWER, text, model: text },
      ],
    };
    const channel = { limit, measureMarkdown: measureAs(dialect) };
    const changes = { startedBy: text, description: text, arguments: { title: text, [text]: 1, list: [text] } };
    const asked = await ask(changes, channel, rows);
    const rendered = await renderMarkdown(asked.text, dialect);
    expect(strip(rendered)).not.toContain("EVIL");
    expect(await channel.measureMarkdown(asked.text)).toBeLessThanOrEqual(limit);
  });
});

test("a reply is shown as it is, line by line", async () => {
  const text = "First.\n```\nSecond\u200B.\n```";
  const deliveries = [{ id: "1", runId: "0198", channel: "github", to: "acme/shop#7", text }];
  const asked = await ask({ kind: "reply", call: undefined, arguments: undefined, deliveries });
  expect(asked.text).toContain("**Deliver this reply to `github acme/shop#7`?**");
  expect(asked.text).toContain("│ First.\n│ \\u{60}\\u{60}\\u{60}\n│ Second\\u{200b}.\n");
});

test("what does not fit is left out in an order: the arguments never", async () => {
  const lengths = [4000, 1250, 1150, 850, 800, 700, 400];
  const shown: string[] = [];
  for (const limit of lengths) {
    const { text, isWhole } = await ask({}, { limit, measureMarkdown: measureAs(SLACK) });
    expect({ limit, isWhole }).toEqual({ limit, isWhole: text.includes("approve cwzf") });
    if (isWhole) expect(text).toContain("│ amount    69           NOWHERE");
    const parts = {
      who: "May decide",
      about: "the event",
      why: "the agent, openai/gpt-5-mini",
      description: "Description",
    };
    shown.push(
      Object.entries(parts)
        .flatMap(([part, mark]) => (text.includes(`${mark}:`) ? [part] : []))
        .join(" "),
    );
  }
  expect(shown).toMatchInlineSnapshot(`
    [
      "who about why description",
      "about why description",
      "why description",
      "why description",
      "why",
      "",
      "",
    ]
  `);
});

test.each([
  ["a call", { arguments: { body: "x".repeat(5000) } }],
  // Slack's escapes make it longer than it looks.
  ["what grows where it is shown", { arguments: { body: "<".repeat(1500) } }],
])("%s that does not fit shows its start, and cannot be answered by a message", async (_, changed) => {
  const { text, isWhole } = await ask(changed);
  expect(isWhole).toBe(false);
  expect(text).toMatch(/It does not fit into one message: \d+ characters more/);
  expect(text).toContain("npx hookline approvals show cwzf");
  expect(text).not.toContain("approve cwzf");
  expect(text.length).toBeLessThan(2000);
});

test("without people who may, no message answers it", async () => {
  const { text } = await toChatText(toQuestion(ROWS), {
    channel: slack,
    answering: { byMessage: false, byButton: false },
  });
  expect(text).toContain("Answer with `npx hookline approvals approve cwzf` or `npx hookline approvals deny cwzf`\n");
});

test("an outcome is not a matter of yes or no", async () => {
  const { text } = await ask({ kind: "outcome" });
  expect(text).toContain("**Was `refunds.create` executed?**");
  expect(text).toContain("approvals settle cwzf");
  expect(text).not.toContain("approve cwzf");
});

test.each([
  [{ byMessage: true, byButton: true }, "Press a button, or answer with `approve cwzf` or `deny cwzf because …`\n"],
  [{ byMessage: false, byButton: true }, "Press a button\n"],
])("how it can be answered: %j", async (answering, expected) => {
  const { text } = await toChatText(toQuestion(ROWS), { channel: slack, answering });
  expect(text).toContain(expected);
});

test("with buttons, it fits the limit of a message that has some", async () => {
  const channel = { ...slack, buttons: { limit: 900 } };
  const { text } = await toChatText(toQuestion(ROWS), { channel, answering: { byMessage: true, byButton: true } });
  expect(await measureAs(SLACK)(text)).toBeLessThanOrEqual(900);
});

test("a question that has ended says how, and no longer how it can be answered", async () => {
  const approval = { ...ROWS.approval, state: "denied" as const };
  const end = "Denied by slack:T0ACME/U0ANN, 2026-11-28 19:40 UTC: **no** <!channel>";
  const answering = { byMessage: true, byButton: true };
  const { text } = await toChatText(toQuestion({ ...ROWS, approval }), { channel: slack, answering, end });
  expect(text).toContain("**Denied by slack:T0ACME/U0ANN, 2026-11-28 19:40 UTC: ??no?? ??channel?**");
  for (const gone of ["until", "approve cwzf", "Press a button", "Deny: not sent"]) expect(text).not.toContain(gone);
});
