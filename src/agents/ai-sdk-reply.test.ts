import { describe, expect, test } from "vitest";
import { DriverError } from "../core/errors.ts";
import { toReply } from "./ai-sdk-reply.ts";

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
