/** Hostile questions in a terminal and in a mail; `browser/seeded.test.ts` has half of them in a browser. */
import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { toChatText } from "../src/core/approvals/question/chat-text.ts";
import { toQuestion } from "../src/core/approvals/question/question.ts";
import type { Step } from "../src/core/journal/journal.ts";
import { toBlockLines, toQuestionLines } from "../src/cli/reading/question-lines.ts";
import { composeMail } from "../src/mail/channel/compose.ts";
import { HOSTILE_CASES, HOSTILE_END } from "./support/seed.ts";

// eslint-disable-next-line no-control-regex
const HIDDEN = /[\0-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]/;
/** Words of each of the texts. */
const OUTSIDE = /alert|previous|eciovni|\[\[|click|very long|cmd/;

const CASES = HOSTILE_CASES.map(({ text, reply, ...form }, index) => {
  const step = { startedAt: 0, state: "done", text } as const;
  const steps: Step[] = [
    {
      ...step,
      n: 1,
      kind: "context",
      title: text.slice(0, 90),
      call: text.slice(0, 90),
      arguments: { text },
      sources: [],
    },
    { ...step, n: 2, kind: "model", model: "openai/gpt-5-mini", sources: [] },
  ];
  const approval = {
    id: "0197",
    code: "cwzf",
    kind: reply ? ("reply" as const) : ("call" as const),
    runId: "0198",
    mapping: "hostile",
    step: 3,
    call: "notes.write",
    description: text,
    address: `POST https://notes.example/${text.slice(0, 90)}`,
    sources: [],
    startedBy: text.slice(0, 200),
    askedAt: 0,
    ...form,
    ...(reply && { deliveries: [{ id: "0199", runId: "0198", channel: "slack", ...reply }] }),
  };
  const event = { subject: text, receivedAt: 0 };
  return { index, text, question: toQuestion({ approval, steps, event, behind: 0 }) };
});

test("a terminal draws them whole, without control sequences, and their lines behind a bar", () => {
  expect(CASES.length).toBeGreaterThanOrEqual(40);
  for (const { index, question } of CASES) {
    for (const texts of [false, true]) {
      const lines = toQuestionLines(question, { width: 80, texts }).map(stripVTControlCharacters);
      expect([index, lines.filter((line) => HIDDEN.test(line) || line.includes("\n"))]).toEqual([index, []]);
      expect(lines.join("").replaceAll(/\s*│ /g, " ")).toContain(HOSTILE_END);
    }
    const card = toBlockLines(question.blocks, { width: 80, texts: true }).map(stripVTControlCharacters);
    const loose = card.map((line) => line.slice(14)).filter((line) => !line.startsWith("│") && OUTSIDE.test(line));
    expect([index, loose]).toEqual([index, []]);
    expect([index, card.filter((line) => line.length > 80)]).toEqual([index, []]);
  }
});

test("a mail has them as text: no address, no picture, no mark of its own", async () => {
  for (const { index, question } of CASES) {
    const channel = { limit: 1_000_000 };
    const { text, isWhole } = await toChatText(question, { channel, answering: { byMessage: true, byButton: false } });
    const options = { from: "hookline@example.com", messageId: "1@example.com" };
    const mail = await composeMail({ to: "ann@example.com", text, format: "markdown", idempotencyKey: "1" }, options);
    const html = typeof mail.html === "string" ? mail.html : "";
    expect([index, HIDDEN.test(`${text}${html}${mail.subject}`)]).toEqual([index, false]);
    expect([
      index,
      html.match(/<(?!\/?(?:html|body|p|strong|em|code|pre|blockquote|br|ul|ol|li)\b|!doctype)[^>]*>/g),
    ]).toEqual([index, null]);
    // Words from outside are code alone.
    const outside = html.replaceAll(/<pre>[^]*?<\/pre>|<code>[^]*?<\/code>/g, "");
    expect([index, OUTSIDE.exec(outside)]).toEqual([index, null]);
    expect([index, isWhole ? text.includes(HOSTILE_END) : text.includes("approvals show")]).toEqual([index, true]);
  }
});
