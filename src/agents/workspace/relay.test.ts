import { mkdtempSync, rmSync } from "node:fs";
import { createServer, request, type IncomingHttpHeaders, type Server } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { CallAnswer, ModelApi, OwnCall, OwnCalls } from "../../core/ports/agent.ts";
import { anthropic, openai, openaiCompatible } from "../ai-sdk.ts";
import { type Relay, type RelayOptions, startRelay } from "./relay.ts";

const KEY = "sk-secret-of-the-service";
const isLinux = process.platform === "linux";

interface Asked {
  url: string;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
}

/** A provider, and what it was asked. */
let provider: Server;
let asked: Asked[] = [];
let answer: { status: number; type: string; text: string; held?: Promise<void> };
let folder: string;
let relay: Relay;
let lastModel: { api: ModelApi };

beforeEach(() => {
  asked = [];
  answer = { status: 200, type: "application/json", text: "{}" };
});
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-relay-"));
  provider = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const text = Buffer.concat(chunks).toString();
      asked.push({ url: incoming.url ?? "", headers: incoming.headers, body: text ? JSON.parse(text) : {} });
      const { status, type, text: content, held } = answer;
      const reply = () => response.writeHead(status, { "content-type": type, "set-cookie": "a=b" }).end(content);
      void Promise.resolve(held).then(reply);
    });
  });
  await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve));
});
afterEach(() => relay.close());
afterAll(() => {
  provider.close();
  rmSync(folder, { recursive: true });
});

describe.runIf(isLinux)("the model", () => {
  test.each([
    ["openai", "chat/completions", { authorization: `Bearer ${KEY}` }],
    ["openai", "responses", { authorization: `Bearer ${KEY}` }],
    ["anthropic", "messages", { "x-api-key": KEY, "anthropic-version": "2023-06-01" }],
    ["anthropic", "messages/count_tokens", { "x-api-key": KEY }],
    ["openai-compatible", "messages", { authorization: `Bearer ${KEY}` }],
  ])("of %s: %s has the key and the model of the service", async (kind, target, headers) => {
    await open({ kind });
    const given = { authorization: "Bearer none", "x-api-key": "none", cookie: "a=b" };
    const { status, headers: got } = await post(target, { model: "gpt-9-huge", stream: false }, given);
    expect(status).toBe(200);
    expect(got).not.toHaveProperty("set-cookie");
    expect(asked).toMatchObject([{ url: `/v1/${target}`, headers, body: { model: "tiny", stream: false } }]);
    expect(JSON.stringify(asked)).not.toContain("none");
    expect(asked[0]?.headers).not.toHaveProperty("cookie");
  });

  test.each([
    ["POST", "/model/v1/files"],
    ["POST", "/model/v1/embeddings"],
    ["GET", "/model/v1/files"],
    ["GET", "/model/v1/chat/completions"],
    ["DELETE", "/model/v1/models"],
    ["POST", "/model/v1/../v1/responses"],
    ["POST", "/model/v1/responses/"],
    ["GET", "/"],
    ["POST", "/mcp"],
    // A format that the provider does not speak.
    ["POST", "/model/v1/messages"],
  ])("nothing else is forwarded: %s %s", async (method, target) => {
    await open({ kind: "openai" });
    expect((await send(method, target, method === "POST" ? "{}" : undefined)).status).toBe(404);
    expect(asked).toEqual([]);
  });

  test("its list is forwarded, and without a model nothing is", async () => {
    await open({ kind: "openai" });
    expect((await send("GET", "/model/v1/models?limit=1")).status).toBe(200);
    expect(asked).toMatchObject([{ url: "/v1/models", headers: { authorization: `Bearer ${KEY}` } }]);
    relay.close();
    relay = await startRelay(folder, {});
    expect((await send("GET", "/model/v1/models")).status).toBe(404);
  });

  const image = "https://example.com/a.png?secret";
  test.each([
    ["mcp_servers", "messages", { mcp_servers: [{ type: "url", url: "https://example.com" }] }],
    ["chat image", "chat/completions", messageOf({ type: "image_url", image_url: { url: image } })],
    ["response image", "responses", { input: [{ content: [{ type: "input_image", image_url: image }] }] }],
    ["response file", "responses", { input: [{ content: [{ type: "input_file", file_url: image }] }] }],
    ["message image", "messages", messageOf({ type: "image", source: { type: "url", url: image } })],
    ["another scheme", "messages", messageOf({ type: "document", source: { type: "url", url: "gs://bucket/a" } })],
    [
      "image of a result",
      "messages",
      messageOf({ type: "tool_result", content: [{ type: "image", source: { type: "url", url: image } }] }),
    ],
    ["no object", "messages", ["a"]],
  ])("what would have the provider fetch something is refused: %s", async (_name, target, body) => {
    await open({ kind: "openai-compatible" });
    expect((await post(target, body)).status).toBe(400);
    expect(asked).toEqual([]);
  });

  test("data passes, and so does an address in the arguments or the schema of a call", async () => {
    await open({ kind: "openai-compatible" });
    const url = "data:image/png;base64,AAAA";
    const tools = [{ name: "fetch", input_schema: { properties: { url: { default: "https://example.com" } } } }];
    const use = { type: "tool_use", name: "fetch", input: { url: "https://example.com" } };
    const content = [
      { type: "image", source: { type: "url", url } },
      use,
      { type: "text", text: "https://example.com" },
    ];
    expect((await post("messages", { messages: [{ role: "user", content }], tools })).status).toBe(200);
  });

  const fn = { type: "function", name: "run" };
  test.each([
    ["chat/completions", [fn, { type: "web_search" }], [fn]],
    ["responses", [{ type: "web_search" }, { type: "mcp", server_url: "https://example.com" }], undefined],
    ["responses", [fn, { type: "shell", environment: { type: "container_auto" } }, { type: "code_interpreter" }], [fn]],
    ["responses", [{ type: "namespace", tools: [fn, { type: "file_search" }] }], [{ type: "namespace", tools: [fn] }]],
    [
      "messages",
      [{ type: "web_fetch_20250910" }, { type: "bash_20250124", name: "bash" }],
      [{ type: "bash_20250124", name: "bash" }],
    ],
    ["messages", [{ type: "code_execution_20250825" }, { name: "edit" }], [{ name: "edit" }]],
  ])("only tools of the agent itself are kept: %s %j", async (target, tools, kept) => {
    await open({ kind: "openai-compatible" });
    const searches = { web_search_options: {}, plugins: [{ id: "web" }] };
    await post(target, { tools, tool_choice: { type: "web_search" }, ...searches });
    const body = asked[0]?.body;
    expect(body?.["tools"]).toEqual(kept);
    for (const name of Object.keys(searches)) expect(body).not.toHaveProperty(name);
  });

  const CHAT = `data: {"choices":[]}\n\ndata: {"usage":{"prompt_tokens":5,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":1}}}\n\ndata: [DONE]\n\n`;
  const RESPONSE = `data: {"type":"response.completed","response":{"usage":{"input_tokens":5,"output_tokens":2}}}\n\n`;
  const MESSAGES = `data: {"type":"message_start","message":{"usage":{"input_tokens":3,"cache_read_input_tokens":2,"output_tokens":1}}}\n\ndata: {"type":"message_delta","usage":{"output_tokens":2}}\n\n`;
  test.each([
    ["chat/completions", "text/event-stream", CHAT],
    ["responses", "text/event-stream", RESPONSE],
    ["messages", "text/event-stream; charset=utf-8", MESSAGES],
    ["messages", "application/json", `{"usage":{"input_tokens":5,"output_tokens":2}}`],
    ["chat/completions", "application/json", `{"usage":{"prompt_tokens":5,"completion_tokens":2}}`],
  ])("tokens are counted, and the answer is the provider's: %s %s", async (target, type, text) => {
    await open({ kind: "openai-compatible" });
    answer = { status: 200, type, text };
    for (let count = 1; count <= 2; count += 1) {
      const { text: got, headers } = await post(target, { stream: true });
      expect(got).toBe(text);
      expect(headers["content-type"]).toBe(type);
      expect(relay.usage()).toMatchObject({ inputTokens: 5 * count, outputTokens: 2 * count });
    }
    if (target === "chat/completions") expect(asked[0]?.body["stream_options"]).toEqual({ include_usage: true });
  });

  test("an answer that says nothing of them is counted by its length, and so is the request", async () => {
    await open({ kind: "openai-compatible" });
    answer = { status: 200, type: "text/event-stream", text: `data: ${"x".repeat(394)}` };
    await post("responses", { input: "y".repeat(400) });
    const { inputTokens = 0, outputTokens } = relay.usage() ?? {};
    expect(outputTokens).toBe(100);
    expect(inputTokens).toBeGreaterThan(100);
  });

  test("a turn that has spent its budget is refused, with no advice to try again", async () => {
    await open({ kind: "openai", isSpent: ({ inputTokens = 0 }) => inputTokens >= 5 });
    answer = { status: 200, type: "application/json", text: `{"usage":{"input_tokens":5,"output_tokens":2}}` };
    expect((await post("responses", {})).status).toBe(200);
    const { status, headers, text } = await post("responses", {});
    expect([status, headers["x-should-retry"]]).toEqual([429, "false"]);
    expect(text).toContain("agents.budget.perRun");
    expect(asked).toHaveLength(1);
  });

  test("requests that are not answered yet count", async () => {
    await open({ kind: "openai", isSpent: ({ inputTokens = 0 }) => inputTokens >= 1000 });
    const gate = Promise.withResolvers<void>();
    answer.held = gate.promise;
    const first = post("responses", { input: "x".repeat(4000) });
    await expect.poll(() => asked.length).toBe(1);
    expect((await post("responses", {})).status).toBe(429);
    gate.resolve();
    expect((await first).status).toBe(200);
    expect(asked).toHaveLength(1);
  });

  test.each([
    [401, `{"error":"Incorrect API key: ${KEY}"}`, 401],
    [400, `{"error":"bad ${KEY}"}`, 400],
    [302, `moved`, 502],
    [529, `{"error":"overloaded"}`, 529],
  ])("a refusal (%i) does not show the key: %s", async (status, text, expected) => {
    await open({ kind: "openai" });
    answer = { status, type: "application/json", text };
    const got = await post("responses", {});
    expect(got.status).toBe(expected);
    expect(got.text).not.toContain(KEY);
    expect(relay.usage()).toBeUndefined();
  });

  test.each([
    [415, { "content-encoding": "gzip" }, "{}"],
    [413, {}, JSON.stringify({ input: "x".repeat(33 * 1024 * 1024) })],
  ])("a body that cannot be read is refused: %i", async (status, headers, body) => {
    await open({ kind: "openai" });
    expect((await send("POST", "/model/v1/responses", body, headers)).status).toBe(status);
  });
});

describe.runIf(isLinux)("the calls of the turn", () => {
  const TOOL = { name: "tickets__show", description: "One ticket.", inputSchema: { type: "object" } };
  let made: OwnCall[];
  let isGone: Promise<void>;

  async function openCalls(execute: (call: OwnCall) => Promise<CallAnswer>): Promise<void> {
    made = [];
    const gone = Promise.withResolvers<void>();
    isGone = gone.promise;
    const calls: OwnCalls = {
      tools: [TOOL],
      isWaiting: () => false,
      made: () => 0,
      continueFrom: () => "",
      addSources: (sources) => [...sources],
      execute(call, signal) {
        made.push(call);
        signal.addEventListener("abort", () => gone.resolve());
        return execute(call);
      },
    };
    relay = await startRelay(folder, { calls });
  }

  const rpc = async (body: unknown): Promise<{ status: number; body: unknown }> => {
    const { status, text } = await send("POST", "/mcp", JSON.stringify(body));
    return { status, body: text === "" ? undefined : JSON.parse(text) };
  };

  test.each([
    [
      "initialize",
      { protocolVersion: "2025-03-26" },
      { result: { protocolVersion: "2025-03-26", capabilities: { tools: {} } } },
    ],
    ["initialize", { protocolVersion: "2999-01-01" }, { result: { protocolVersion: "2025-06-18" } }],
    ["ping", undefined, { result: {} }],
    ["tools/list", {}, { result: { tools: [TOOL] } }],
    [
      "tools/call",
      { name: "tickets__show", arguments: { id: 1 } },
      { result: { content: [{ type: "text", text: "one" }], isError: false } },
    ],
    ["tools/call", { name: "tickets__show" }, { result: { isError: false } }],
    ["tools/call", { name: 1 }, { error: { code: -32602 } }],
    ["tools/call", { name: "a", arguments: [1] }, { error: { code: -32602 } }],
    ["resources/list", {}, { error: { code: -32601 } }],
    ["sampling/createMessage", {}, { error: { code: -32601 } }],
  ])("%s %j", async (method, params, answered) => {
    await openCalls(async () => ({ text: "one", isError: false }));
    expect(await rpc({ jsonrpc: "2.0", id: 7, method, params })).toMatchObject({
      status: 200,
      body: { jsonrpc: "2.0", id: 7, ...answered },
    });
    expect(made).toHaveLength("result" in answered && method === "tools/call" ? 1 : 0);
  });

  test.each([
    ["a notification", "POST", { jsonrpc: "2.0", method: "notifications/initialized" }, 202],
    ["a call without an id", "POST", { jsonrpc: "2.0", method: "tools/call", params: { name: "tickets__show" } }, 202],
    ["an answer", "POST", { jsonrpc: "2.0", id: 1, result: {} }, 202],
    ["a list", "POST", [{ jsonrpc: "2.0", id: 1, method: "ping" }], 400],
    ["a stream", "GET", undefined, 405],
    ["the end of a session", "DELETE", undefined, 405],
    ["an id that is an object", "POST", { jsonrpc: "2.0", id: {}, method: "ping" }, 200],
    ["what is too large", "POST", { jsonrpc: "2.0", id: 1, method: "ping", params: "x".repeat(1_100_000) }, 413],
  ])("%s", async (_name, method, body, status) => {
    await openCalls(async () => ({ text: "one", isError: false }));
    expect(await send(method, "/mcp", body && JSON.stringify(body))).toMatchObject({ status });
    expect(made).toEqual([]);
  });

  test("a caller that is gone is known", async () => {
    await openCalls(() => new Promise(() => {}));
    const sent = request({ socketPath: relay.socket, method: "POST", path: "/mcp", agent: false });
    sent.on("error", () => {});
    sent.end(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "tickets__show" } }));
    await expect.poll(() => made.length).toBe(1);
    sent.destroy();
    await isGone;
  });

  test("each call has the tokens since the one before it, with the model that used them", async () => {
    await open({ kind: "openai-compatible" });
    relay.close();
    const { api } = lastModel;
    const seen: OwnCall[] = [];
    const calls = { tools: [], execute: async (call: OwnCall) => (seen.push(call), { text: "", isError: false }) };
    relay = await startRelay(folder, {
      model: { api, name: "own/tiny", id: "tiny", isSpent: () => false },
      calls: calls as unknown as OwnCalls,
    });
    answer = { ...answer, text: `{"usage":{"prompt_tokens":5,"completion_tokens":2}}` };
    for (const requests of [2, 0, 1]) {
      for (let count = 0; count < requests; count += 1) await post("chat/completions", {});
      await rpc({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "a" } });
    }
    expect(seen).toMatchObject([
      { usage: { inputTokens: 10, outputTokens: 4 }, usedBy: "own/tiny" },
      { usage: undefined },
      { usage: { inputTokens: 5, outputTokens: 2 } },
    ]);
    expect(relay.takeUsage()).toBeUndefined();
    expect(relay.usage()).toEqual({ inputTokens: 15, outputTokens: 6 });
  });
});

describe.runIf(isLinux)("hosts", () => {
  test.each([
    ["example.com:443", "93.184.216.34", 200],
    ["EXAMPLE.com.:443", "93.184.216.34", 200],
    ["example.com:8443", "93.184.216.34", 200],
    ["example.com:80", "93.184.216.34", 403],
    ["evil.example.com:443", "93.184.216.34", 403],
    ["example.com:443", "10.0.0.1", 403],
    ["example.com:443", "127.0.0.1", 403],
    ["example.com:443", "169.254.169.254", 403],
    ["example.com:443", "::ffff:127.0.0.1", 403],
    ["10.0.0.1:443", "10.0.0.1", 403],
    ["example.com:443@evil.com:443", "93.184.216.34", 403],
  ])("a tunnel to %s, which is %s: %i", async (target, address, status) => {
    const server = createTcpServer((socket) => socket.end("hello"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const addresses = [
      { address: "93.184.216.34", family: 4 },
      { address, family: 4 },
    ];
    relay = await startRelay(folder, {
      hosts: {
        names: ["example.com", "example.com:8443", "10.0.0.1"],
        resolve: async () => addresses,
        dial: () => connect(port, "127.0.0.1"),
      },
    });
    const { status: got, text } = await tunnel(target);
    expect(got).toBe(status);
    if (status === 200) expect(text).toBe("hello");
    server.close();
  });

  test("without hosts there is no proxy", async () => {
    relay = await startRelay(folder, {});
    expect((await tunnel("example.com:443")).status).toBe(403);
    expect((await send("GET", "http://example.com/")).status).toBe(404);
  });
});

async function open({ kind, isSpent = () => false }: { kind: string } & Partial<RelayOptions["model"]>): Promise<void> {
  const drivers = { openai, anthropic, "openai-compatible": openaiCompatible };
  const { port } = provider.address() as AddressInfo;
  const options = { apiKey: KEY, baseUrl: `http://127.0.0.1:${port}/v1` };
  const driver = await drivers[kind as keyof typeof drivers].create(options, { name: "own" } as never);
  const api: ModelApi = driver.modelApi!;
  lastModel = { api };
  relay = await startRelay(folder, { model: { api, name: "own/tiny", id: "tiny", isSpent } });
}

interface Answered {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

function post(target: string, body: unknown, headers = {}): Promise<Answered> {
  return send("POST", `/model/v1/${target}`, JSON.stringify(body), headers);
}

function send(method: string, target: string, body?: string, headers = {}): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath: relay.socket, method, path: target, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => {
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(chunks).toString(),
        });
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

function tunnel(target: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath: relay.socket, method: "CONNECT", path: target, agent: false });
    sent.on("connect", ({ statusCode = 0 }, socket, head) => {
      const chunks: Buffer[] = [head];
      socket.on("data", (chunk: Buffer) => chunks.push(chunk));
      socket.on("close", () => resolve({ status: statusCode, text: Buffer.concat(chunks).toString() }));
    });
    sent.on("error", reject);
    sent.end();
  });
}

function messageOf(part: object): object {
  return { messages: [{ role: "user", content: [part] }] };
}
