import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type ModelServer, startModels } from "../../test/support/models.ts";
import { describeRemoteAgent, type RemoteAgentUnderTest, turnOf } from "../contracts/agent.ts";
import { type FaultProxy, startFaultProxy } from "../contracts/fault-proxy.ts";
import { failureOf } from "../contracts/harness.ts";
import { DriverError } from "../errors.ts";
import { createAiSdk, toReasoning, toReply } from "./ai-sdk.ts";
import type { AgentTurn } from "./driver.ts";

const KEY = "sk-test-0123456789abcdef";
const KINDS = ["openai-compatible", "openai", "anthropic"] as const;
/** Ids that the providers' packages know, so that they round thinking levels for them. */
const MODELS = { "openai-compatible": "local-model", openai: "gpt-5", anthropic: "claude-sonnet-4-5" };
const THINKING_ON_THE_WIRE = {
  "openai-compatible": /"reasoning_effort":"high"/,
  openai: /"reasoning":\{"effort":"high"/,
  anthropic: /"thinking":\{"type":"enabled"/,
};
const never = new AbortController().signal;

for (const kind of KINDS) describeRemoteAgent({ describe, test }, `ai-sdk, ${kind}`, () => open(kind));

describe.each(KINDS)("ai-sdk, %s", (kind) => {
  let models: ModelServer;
  let proxy: FaultProxy;
  beforeAll(async () => {
    models = await startModels();
    proxy = await startFaultProxy(models.baseUrl);
  });
  afterAll(async () => {
    await proxy.close();
    await models.close();
  });

  const lastBody = (): string => proxy.requests.at(-1)?.body ?? "";
  const run = (turn: Partial<AgentTurn> = {}, options: { apiKey?: string } = {}) =>
    createAiSdk(kind, { baseUrl: proxy.url, apiKey: KEY, ...options }, { name: "house" }).run(
      turnOf({ model: `house/${MODELS[kind]}`, ...turn }),
      never,
    );

  test("the reply names provider and model", async () => {
    models.reply("ok", { model: "the-model-that-answered" });
    expect((await run()).model).toBe("house/the-model-that-answered");
  });

  test("sends the thinking level", async () => {
    models.reply("ok");
    await run();
    expect(lastBody()).not.toMatch(/reasoning|thinking/);
    const reply = await run({ thinking: "high" });
    expect(lastBody()).toMatch(THINKING_ON_THE_WIRE[kind]);
    expect(reply.warnings).toEqual([]);
  });

  test("warns about an unknown level", async () => {
    models.reply("ok");
    const reply = await run({ thinking: "ultra" });
    expect(reply.warnings?.[0]).toBe('Thinking level "ultra" was replaced by "max".');
  });

  test("replaces an empty turn, which providers reject", async () => {
    models.reply("ok");
    await run({
      history: [
        { role: "user", text: "one" },
        { role: "assistant", text: "" },
      ],
    });
    expect(models.lastMessages()).toHaveLength(3);
    expect(JSON.stringify(models.lastMessages()[1])).toContain("(empty)");
  });

  test("an empty reply is a reply", async () => {
    models.reply("");
    expect((await run()).text).toBe("");
  });

  test("sends the key only in a header and never shows it", async () => {
    proxy.inject({
      kind: "answer",
      status: 401,
      body: JSON.stringify(quoting(`Incorrect key ${KEY}, see https://x.test/?k=1`)),
    });
    const error = await failureOf(run());
    proxy.inject();
    expect(error.message).toMatch(/^house answered 401 .*Incorrect key \[redacted\], see https:\/\/x\.test\/$/);
    expect(inspect(error, { depth: null })).not.toContain(KEY);
    expect(lastBody()).not.toContain(KEY);
    expect(JSON.stringify(proxy.requests.at(-1)?.headers)).toContain(KEY);
  });

  test("a web page in place of a response is retryable", async () => {
    proxy.inject({
      kind: "answer",
      status: 200,
      headers: { "content-type": "text/html" },
      body: "<h1>Welcome</h1>",
    });
    const error = await failureOf(run());
    proxy.inject();
    expect(error).toMatchObject({ retryable: true });
    expect(error.message).not.toContain("Welcome");
  });

  test("uses no key from the environment", async () => {
    models.reply("ok");
    vi.stubEnv("OPENAI_API_KEY", "sk-from-the-environment");
    vi.stubEnv("ANTHROPIC_API_KEY", "sk-from-the-environment");
    await run({}, { apiKey: undefined });
    vi.unstubAllEnvs();
    expect(JSON.stringify(proxy.requests.at(-1)?.headers)).not.toContain("from-the-environment");
  });

  test("rejects a model of another provider without a call", async () => {
    const before = proxy.requests.length;
    await expect(run({ model: "other/model" })).rejects.toMatchObject({ retryable: false });
    expect(proxy.requests).toHaveLength(before);
  });
});

/** An error in a body that both wire formats can be read from. */
function quoting(message: string): unknown {
  return { type: "error", error: { type: "authentication_error", message } };
}

async function open(kind: (typeof KINDS)[number]): Promise<RemoteAgentUnderTest> {
  const models = await startModels();
  const proxy = await startFaultProxy(models.baseUrl);
  models.reply("Hello.");
  return {
    agent: createAiSdk(kind, { baseUrl: proxy.url, apiKey: KEY }, { name: "house" }),
    model: `house/${MODELS[kind]}`,
    reply: (text) => models.reply(text),
    refuse: (status, retryAfterSeconds) => models.fail(status, "No.", retryAfterSeconds),
    cut: () => proxy.inject({ kind: "cut" }),
    hang: () => proxy.inject({ kind: "hang" }),
    conversation: () => models.lastMessages(),
    requestCount: () => proxy.requests.length,
    async close() {
      await proxy.close();
      await models.close();
    },
  };
}

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
    ...changes,
  };
}

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
