import { describe, expect, test } from "vitest";
import { createCallIds } from "./call-ids.ts";

type Middleware = ReturnType<typeof createCallIds>["middleware"];
type Wrap = Parameters<NonNullable<Middleware["wrapGenerate"]>>[0];

/** The calls that the SDK gets for an answer with these ids. */
async function answer(ids: string[], earlier: string[] = []) {
  const { middleware, requireSameCalls } = createCallIds("house");
  const toPart = (toolCallId: string, input: string) => ({ type: "tool-call", toolCallId, toolName: "a__b", input });
  const content = ids.map((id, index) => toPart(id, JSON.stringify({ index })));
  const prompt = [{ role: "assistant", content: earlier.map((id) => toPart(id, "{}")) }];
  const options = { params: { prompt }, doGenerate: async () => ({ content }) };
  const answered = await middleware.wrapGenerate?.(options as unknown as Wrap);
  const calls = (answered?.content ?? []).flatMap((part) => (part.type === "tool-call" ? [part] : []));
  const toolCalls = calls.map((call) => ({ ...call, input: JSON.parse(call.input) }));
  return { toolCalls, responseMessages: [{ role: "assistant" as const, content: toolCalls }], requireSameCalls };
}

const idsOf = async (...given: Parameters<typeof answer>) =>
  (await answer(...given)).toolCalls.map(({ toolCallId }) => toolCallId);

test("ids that tell calls apart stay as they are", async () => {
  expect(await idsOf(["functions.a:0", "functions.a:1"], ["functions.a:2"])).toEqual([
    "functions.a:0",
    "functions.a:1",
  ]);
});

test.each([
  ["twice in an answer", ["x", "x", "x"], []],
  ["empty", ["", " "], []],
  ["of an earlier call of the turn", ["x"], ["x"]],
])("an id %s is replaced", async (_, ids, earlier) => {
  const given = await idsOf(ids, earlier);
  expect(new Set([...given, ...earlier]).size).toBe(ids.length + earlier.length);
  expect(given.filter((id) => id !== "x").every((id) => /^[0-9a-f]{9}$/.test(id))).toBe(true);
});

describe("calls that the SDK has changed are an error", () => {
  test("the calls as they were given are none", async () => {
    const { requireSameCalls, ...same } = await answer(["x", "x"]);
    expect(() => requireSameCalls(same)).not.toThrow();
  });

  test.each<[string, (calls: { toolCallId: string; toolName: string; input: unknown }[]) => object[]]>([
    ["one of them twice", ([first]) => [first!, first!]],
    ["one less", ([first]) => [first!]],
    ["another order", (calls) => calls.toReversed()],
    ["other arguments", ([first, second]) => [first!, { ...second!, input: { index: 0 } }]],
    ["another name", ([first, second]) => [first!, { ...second!, toolName: "a__c" }]],
    ["another id", ([first, second]) => [first!, { ...second!, toolCallId: "y" }]],
  ])("%s", async (_, change) => {
    const { requireSameCalls, toolCalls, responseMessages } = await answer(["x", "x"]);
    const changed = change(toolCalls) as typeof toolCalls;
    const error = expect.objectContaining({ name: "DriverError", retryable: true });
    expect(() => requireSameCalls({ toolCalls: changed, responseMessages })).toThrow(error);
  });

  test("in the messages that the next request begins with", async () => {
    const { requireSameCalls, toolCalls } = await answer(["x", "x"]);
    const messages = [{ role: "assistant" as const, content: [toolCalls[0]!, toolCalls[0]!] }];
    expect(() => requireSameCalls({ toolCalls, responseMessages: messages })).toThrow("could not be told apart");
  });
});
