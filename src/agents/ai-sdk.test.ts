import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type ModelServer, startModels } from "../../test/support/models.ts";
import { type CallingAgentUnderTest, describeCallingAgent, turnOf } from "../contracts/agent.ts";
import { type FaultProxy, startFaultProxy } from "../contracts/fault-proxy.ts";
import { failureOf } from "../contracts/harness.ts";
import { createAiSdk } from "./ai-sdk.ts";
import type { AgentTurn } from "../core/ports/agent.ts";

const KEY = "sk-test-0123456789abcdef";
const KINDS = ["openai-compatible", "openai", "anthropic"] as const;
/** Ids that the providers' packages know, so that they round thinking levels for them. */
const MODELS = { "openai-compatible": "local-model", openai: "gpt-5", anthropic: "claude-sonnet-4-5" };
const THINKING_ON_THE_WIRE = {
  "openai-compatible": /"reasoning_effort":"high"/,
  openai: /"reasoning":\{"effort":"high"/,
  anthropic: /"thinking":\{"type":"enabled"/,
};
const PICTURE = Buffer.from("a picture");
const BASE64 = PICTURE.toString("base64");
const DATA_URL = `data:image/png;base64,${BASE64}`;
/** https://platform.openai.com/docs/guides/images-vision · https://docs.claude.com/en/docs/build-with-claude/vision */
const IMAGES_ON_THE_WIRE = {
  "openai-compatible": [
    { type: "text", text: "Look." },
    { type: "image_url", image_url: { url: DATA_URL } },
  ],
  openai: [
    { type: "input_text", text: "Look." },
    { type: "input_image", image_url: DATA_URL },
  ],
  anthropic: [
    { type: "text", text: "Look." },
    { type: "image", source: { type: "base64", media_type: "image/png", data: BASE64 } },
  ],
};
const never = new AbortController().signal;

for (const kind of KINDS) describeCallingAgent({ describe, test }, `ai-sdk, ${kind}`, () => open(kind));

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
    expect(lastBody()).not.toMatch(/"(reasoning|reasoning_effort|thinking)":/);
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

  test("a picture is a part beside the text in the form that the service documents, a text is not", async () => {
    models.reply("ok");
    const image = { name: "file-1.png", type: "image/png", isImage: true, bytes: PICTURE };
    await run({
      message: "Look.",
      files: [image, { name: "file-2.txt", type: "text/plain", isImage: false, bytes: Buffer.from("a text") }],
    });
    const { messages, input } = JSON.parse(lastBody());
    expect((messages ?? input).at(-1)).toEqual({ role: "user", content: IMAGES_ON_THE_WIRE[kind] });
  });

  test("limits the answer", async () => {
    models.reply("ok");
    await run({ maxOutputTokens: 77 });
    expect(lastBody()).toMatch(/"max_(output_)?tokens":77\b/);
  });

  test("a tool call without tools is a retryable error", async () => {
    models.callTool();
    expect(await failureOf(run())).toMatchObject({
      retryable: true,
      message: 'house ended with "tool-calls" before it wrote a reply.',
    });
  });

  test("a text beside a tool call is a reply with a warning", async () => {
    models.callTool("Let me look.");
    expect(await run()).toMatchObject({
      text: "Let me look.",
      warnings: ['The reply may be incomplete: it ended with "tool-calls".'],
    });
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

const HISTORY: AgentTurn["history"] = [
  { role: "user", text: "one" },
  { role: "assistant", text: "two" },
];

/** Runs turns one after the other, and gives the bodies of their requests and the replies. */
async function exchange(
  kind: (typeof KINDS)[number],
  turns: Partial<AgentTurn>[],
  reply: (models: ModelServer) => void,
) {
  const models = await startModels();
  const proxy = await startFaultProxy(models.baseUrl);
  reply(models);
  const agent = createAiSdk(kind, { baseUrl: proxy.url, apiKey: KEY }, { name: "house" });
  const replies = [];
  for (const turn of turns) replies.push(await agent.run(turnOf({ model: `house/${MODELS[kind]}`, ...turn }), never));
  await proxy.close();
  await models.close();
  return { bodies: proxy.requests.map(({ body }) => JSON.parse(body)), replies };
}

test("openai stores nothing, and has a cache key for each session", async () => {
  const sessions = [{ sessionKey: "ann@example.com" }, { sessionKey: "ann@example.com" }, { sessionKey: "ben" }];
  const { bodies } = await exchange("openai", sessions, (models) => models.reply("ok"));
  const [first, second, third] = bodies.map((body) => body.prompt_cache_key);
  expect(bodies.map(({ store }) => store)).toEqual([false, false, false]);
  expect(first).toMatch(/^[0-9a-f]{32}$/);
  expect([second === first, third === first]).toEqual([true, false]);
});

test("anthropic caches up to the last message of the history", async () => {
  const { bodies } = await exchange("anthropic", [{ history: HISTORY }, {}], (models) => models.reply("ok"));
  const hints = bodies.map(({ messages }) =>
    messages.map(({ content }: { content: { cache_control?: object }[] }) => content.at(-1)?.cache_control),
  );
  expect(hints).toEqual([[undefined, { type: "ephemeral" }, undefined], [undefined]]);
});

/** Answers as the services send them; the model double reports no cached tokens. */
const CACHED = {
  anthropic: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude-sonnet-4-5",
    content: [{ type: "text", text: "ok" }],
    stop_reason: "end_turn",
    usage: { input_tokens: 10, cache_read_input_tokens: 70, cache_creation_input_tokens: 20, output_tokens: 5 },
  },
  openai: {
    id: "resp_1",
    object: "response",
    created_at: 1,
    model: "gpt-5",
    output: [
      { type: "message", id: "m", role: "assistant", content: [{ type: "output_text", text: "ok", annotations: [] }] },
    ],
    usage: { input_tokens: 100, input_tokens_details: { cached_tokens: 70 }, output_tokens: 5 },
  },
  "openai-compatible": {
    id: "c",
    created: 1,
    model: "local-model",
    choices: [{ index: 0, message: { role: "assistant", content: "ok" }, finish_reason: "stop" }],
    usage: { prompt_tokens: 100, prompt_tokens_details: { cached_tokens: 70 }, completion_tokens: 5 },
  },
};

test("anthropic caches up to the last result of a turn with tools", async () => {
  const tools = [{ name: "a__b", description: "Reads.", inputSchema: { type: "object", properties: {} } }];
  const call = { type: "tool-call", toolCallId: "c1", toolName: "a__b", input: {} };
  const exchanges = [
    {
      answer: [{ role: "assistant", content: [call] }],
      results: [{ toolCallId: "c1", name: "a__b", text: "found", isError: false }],
    },
  ];
  const { bodies } = await exchange("anthropic", [{ tools, exchanges }], (models) => models.reply("ok"));
  const [last] = bodies[0].messages.at(-1).content;
  expect(last).toMatchObject({ type: "tool_result", cache_control: { type: "ephemeral" } });
});

test.each(KINDS)("%s: cached tokens are reported apart", async (kind) => {
  const proxy = await startFaultProxy("http://127.0.0.1:1/v1");
  proxy.inject({ kind: "answer", status: 200, body: JSON.stringify(CACHED[kind]) });
  const agent = createAiSdk(kind, { baseUrl: proxy.url, apiKey: KEY }, { name: "house" });
  const { usage } = await agent.run(turnOf({ model: `house/${MODELS[kind]}` }), never);
  await proxy.close();
  expect(usage).toMatchObject({ inputTokens: 100, outputTokens: 5, cachedInputTokens: 70 });
  expect(usage?.cacheWriteTokens).toBe(kind === "anthropic" ? 20 : undefined);
});

test("thoughts in the text of an openai-compatible model are not the reply", async () => {
  const { replies } = await exchange("openai-compatible", [{}], (models) =>
    models.reply("<think>\nSo …\n</think>\n\nHello."),
  );
  expect(replies[0]?.text).toBe("Hello.");
});

/** An error in a body that both wire formats can be read from. */
function quoting(message: string): unknown {
  return { type: "error", error: { type: "authentication_error", message } };
}

async function open(kind: (typeof KINDS)[number]): Promise<CallingAgentUnderTest> {
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
    askFor: (calls, text) => models.answer(() => ({ text, calls })),
    lastBody: () => proxy.requests.at(-1)?.body ?? "",
    conversation: () => models.lastMessages(),
    requestCount: () => proxy.requests.length,
    async close() {
      await proxy.close();
      await models.close();
    },
  };
}
