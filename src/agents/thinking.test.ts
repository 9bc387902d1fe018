import { describe, expect, test } from "vitest";
import { toReasoning, withoutThinking } from "./thinking.ts";

describe("thinking level", () => {
  test.each(["none", "minimal", "low", "medium", "high", "xhigh", "max"])("%s is unchanged", (level) => {
    expect(toReasoning(level)).toEqual({ reasoning: level });
  });

  test("ignores case and white space", () => {
    expect(toReasoning(" High ")).toEqual({ reasoning: "high" });
  });

  test.each([
    ["off", "none"],
    ["ultra", "max"],
    ["adaptive", "provider-default"],
  ])("%s becomes %s, with a warning", (word, reasoning) => {
    expect(toReasoning(word)).toEqual({
      reasoning,
      warning: `Thinking level "${word}" was replaced by "${reasoning}".`,
    });
  });

  test.each([undefined, "", "  "])("%j sets nothing", (thinking) => {
    expect(toReasoning(thinking)).toEqual({});
  });

  test("an unknown word is ignored, with a warning", () => {
    const { reasoning, warning } = toReasoning("a lot");
    expect(reasoning).toBeUndefined();
    expect(warning).toContain('"a lot" is unknown');
  });
});

describe("thoughts are not the reply", () => {
  test.each([
    ["at the beginning", "<think>\nSo …\n</think>\n\nHello.", "Hello."],
    ["empty", "<think></think>Hello.", "Hello."],
    ["several", "<think>a</think>\nHello.\n<THINK>b</THINK>\nBye.", "Hello.\n\nBye."],
    ["without the first tag", "So the user …\n</think>\n\nHello.", "Hello."],
    ["cut short", "<think>\nSo …", ""],
    ["a tag within a line", "Write <think> and </think> around it.", "Write <think> and </think> around it."],
    ["none", "  Hello.\n", "  Hello.\n"],
  ])("%s", (_, text, reply) => {
    expect(withoutThinking(text)).toBe(reply);
  });
});
