import { expect, test } from "vitest";
import { findWrittenCall } from "./written-calls.ts";

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
