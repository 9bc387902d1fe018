/** The short form of `npm run injection`: all cases, and one sample of some presets. Each rule is needed for one of them. */
import { afterEach, describe, expect, test } from "vitest";
import { SOURCE_RULES } from "../../src/core/actions/agent-turn.ts";
import { REPLY_RULES } from "../../src/core/actions/reply.ts";
import { CALL_RULES } from "../../src/core/actions/call-rules.ts";
import { QUESTION_RULES } from "../../src/core/approvals/question.ts";
import { ANSWER_RULES } from "../../src/core/approvals/chat-answer.ts";
import { LOCK_RULES } from "../../src/agents/tools/mcp.ts";
import { PATH_RULES } from "../../src/agents/tools/path.ts";
import { CASES, injectPreset } from "./cases.ts";

test.each(["github", "mail", "slack", "sentry"])("payloads of %s", async (preset) => {
  const { effects, done, wanted, texts } = await injectPreset(preset, 1);
  expect({ effects, done, hasTexts: texts > 0 }).toEqual({ effects: [], done: wanted, hasTexts: true });
});

test.each(Object.entries(CASES))("%s", async (_, run) => {
  const { effects, done, wanted } = await run();
  expect({ effects, done }).toEqual({ effects: [], done: wanted });
});

const { grant } = CALL_RULES;

/** The rules, what stands in for one of them, the case that then fails, and how. */
type Off = [name: string, rules: object, changed: object, expected: { in: string; effect: RegExp }];

const OFF: Off[] = [
  [
    "without a grant there is no call",
    CALL_RULES,
    {
      grant: ((call, grants) =>
        grant(call, grants) ?? {
          call: call.fullName,
          mode: "allow",
          free: Object.keys(Object(call.input["properties"])),
        }) satisfies typeof grant,
    },
    { in: "context that was read", effect: /POST \/remove\/7/ },
  ],
  [
    "what is fixed cannot be chosen",
    CALL_RULES,
    { fixed: (given: Record<string, unknown>) => ({ args: given }) },
    { in: "an agent without work", effect: /\/projects\/SECRET\/search/ },
  ],
  [
    "only what is free can be filled",
    CALL_RULES,
    { free: () => undefined },
    { in: "an agent without work", effect: /"urgent":true/ },
  ],
  ["max", CALL_RULES, { max: () => undefined }, { in: "context that was read", effect: /more updates than max/ }],
  [
    "public sets after private ones",
    CALL_RULES,
    { audience: () => undefined },
    { in: "results of tools", effect: /of a public set/ },
  ],
  [
    "a person is asked",
    CALL_RULES,
    { needsPerson: () => false },
    { in: "an agent without work", effect: /"title":"pwned"/ },
  ],
  [
    "a path stays in its segment",
    PATH_RULES,
    { findDanger: () => undefined },
    { in: "an agent without work", effect: /GET \/files\/\.\.%2Fadmin/ },
  ],
  [
    "a call is as it was accepted",
    LOCK_RULES,
    { isSame: () => true },
    { in: "a changed tool", effect: /the changed tool/ },
  ],
  [
    "the session remembers",
    SOURCE_RULES,
    { ofHistory: () => [] },
    { in: "a second turn of the session", effect: /in public|public set/ },
  ],
  [
    "replies that others see wait",
    REPLY_RULES,
    { mustWait: () => false },
    { in: "get-env, then a public comment", effect: /in public/ },
  ],
  [
    "links carry nothing away",
    REPLY_RULES,
    { closeLinks: async (text: string) => ({ text, hosts: [] }) },
    { in: "context that was read", effect: /a link/ },
  ],
  [
    "a question hides nothing",
    QUESTION_RULES,
    { show: String },
    { in: "hidden characters in arguments", effect: /hides/ },
  ],
  [
    "only people in by",
    ANSWER_RULES,
    { isApprover: () => true },
    { in: "actors that end in [bot], and other people", effect: /without a/ },
  ],
  [
    "no delivery answers",
    ANSWER_RULES,
    { isNotOurs: () => true },
    { in: "a reply that contains approve <code>", effect: /without a/ },
  ],
];

describe("switched off", () => {
  const restore: (() => void)[] = [];
  afterEach(() => restore.splice(0).forEach((step) => step()));

  test.each(OFF)("%s", async (_, rules, changed, expected) => {
    const original = { ...rules };
    restore.push(() => Object.assign(rules, original));
    Object.assign(rules, changed);
    const run = CASES[expected.in];
    if (!run) throw new Error(`There is no case "${expected.in}".`);
    const { effects } = await run();
    expect(effects.join("\n")).toMatch(expected.effect);
  });
});
