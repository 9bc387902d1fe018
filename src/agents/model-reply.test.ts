import { describe, expect, test } from "vitest";
import { DriverError } from "../errors.ts";
import { toReply } from "./model-reply.ts";

type Result = Parameters<typeof toReply>[1];

describe("toReply", () => {
  test("takes over text, model and usage", () => {
    const reply = toReply("house", result({ text: "Hello." }), []);
    expect(reply).toEqual({
      text: "Hello.",
      model: "house/some-model",
      usage: { inputTokens: 3, outputTokens: 2 },
      warnings: [],
    });
  });

  test("turns each warning into a sentence, the driver's own first", () => {
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
    "keeps a text that ended with %s, and says that it may be incomplete",
    (finishReason) => {
      const reply = toReply("house", result({ text: "Half a sen", finishReason }), []);
      expect(reply.text).toBe("Half a sen");
      expect(reply.warnings).toEqual([`The reply may be incomplete: it ended with "${finishReason}".`]);
    },
  );

  test.each([
    ["length", "lasting"],
    ["content-filter", "lasting"],
    ["error", "passing"],
    ["interrupted", "passing"],
  ] as const)("without a text, an ending with %s is %s", (finishReason, kind) => {
    expect(() => toReply("house", result({ text: " ", finishReason }), [])).toThrow(
      expect.objectContaining({ kind, constructor: DriverError }),
    );
  });

  test("takes an empty text for a reply where the model had nothing to say", () => {
    expect(toReply("house", result({ text: "" }), []).text).toBe("");
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
    ...changes,
  };
}
