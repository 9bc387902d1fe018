import { describe, expect, test } from "vitest";
import { DriverError } from "../core/errors.ts";
import { findWrittenCall, toReply } from "./ai-sdk-reply.ts";

type Result = Parameters<typeof toReply>[1];

describe("toReply", () => {
  test("has text, model and usage", () => {
    const reply = toReply("house", result({ text: "Hello." }), []);
    expect(reply).toEqual({
      text: "Hello.",
      model: "house/some-model",
      usage: { inputTokens: 3, outputTokens: 2 },
      warnings: [],
    });
  });

  test("has a sentence for each warning, the driver's own first", () => {
    const warnings: Result["warnings"] = [
      { type: "unsupported", feature: "reasoning", details: "Not by this model." },
      { type: "compatibility", feature: "reasoning" },
      { type: "deprecated", setting: "old", message: "Use new." },
      { type: "other", message: "Something else." },
    ];
    expect(toReply("house", result({ warnings }), ["Mine."]).warnings).toEqual([
      "Mine.",
      '"reasoning" is not supported. Not by this model.',
      '"reasoning" was adapted.',
      '"old" is deprecated. Use new.',
      "Something else.",
    ]);
  });

  test.each(["length", "content-filter", "error", "interrupted"] as const)(
    "a text that ended with %s has a warning",
    (finishReason) => {
      const reply = toReply("house", result({ text: "Half a sen", finishReason }), []);
      expect(reply.text).toBe("Half a sen");
      expect(reply.warnings).toEqual([`The reply may be incomplete: it ended with "${finishReason}".`]);
    },
  );

  test.each([
    ["length", false],
    ["content-filter", false],
    ["error", true],
    ["interrupted", true],
  ] as const)("no text and the reason %s: retryable is %s", (finishReason, retryable) => {
    expect(() => toReply("house", result({ text: " ", finishReason }), [])).toThrow(
      expect.objectContaining({ retryable, constructor: DriverError }),
    );
  });
});

function result(changes: Partial<Result>): Result {
  const usage = {
    inputTokens: 3,
    inputTokenDetails: { noCacheTokens: 3, cacheReadTokens: 0, cacheWriteTokens: 0 },
    outputTokens: 2,
    outputTokenDetails: { textTokens: 2, reasoningTokens: 0 },
    totalTokens: 5,
  };
  return {
    text: "ok",
    finishReason: "stop",
    usage,
    warnings: [],
    response: { modelId: "some-model" },
    canCall: false,
    toolCalls: [],
    responseMessages: [],
    ...changes,
  };
}

test.each([
  ["Hermes and Qwen", '<tool_call>\n{"name":"a__b","arguments":{}}\n</tool_call>'],
  ["Qwen Coder", "<function=a__b>\n<parameter=id>\n7\n</parameter>\n</function>"],
  ["MiniMax", '<minimax:tool_call>\n<invoke name="a__b">'],
  ["Kimi", "<|tool_calls_section_begin|><|tool_call_begin|>functions.a__b:0"],
  ["Llama", '<|python_tag|>{"name":"a__b"}'],
  ["Mistral", '[TOOL_CALLS][{"name":"a__b"}]'],
])("a call in the format of %s", (_, call) => {
  expect(findWrittenCall(call)).toEqual({ before: "" });
  expect(findWrittenCall(`Let me look.\n\n${call}\nIt is 7.`)).toEqual({ before: "Let me look." });
});

test.each([
  ["a word about the tag", "The server must read `<tool_call>` itself, or a <tool_call> in a line."],
  ["an example", "It writes:\n```\n<tool_call>\n{}\n</tool_call>\n```\nSo be it."],
  ["none", "All is well."],
])("%s is no call", (_, text) => {
  expect(findWrittenCall(text)).toBeUndefined();
});
