import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { turnOf } from "../contracts/agent.ts";
import { type FaultProxy, startFaultProxy } from "../contracts/fault-proxy.ts";
import { failureOf } from "../contracts/harness.ts";
import type { DriverError } from "../core/errors.ts";
import { createAiSdk } from "./ai-sdk.ts";
import type { AgentDriver } from "../core/ports/agent.ts";
import { createGateway } from "./gateway.ts";

const openers = {
  openai: (baseUrl) => createAiSdk("openai", { baseUrl }, { name: "house" }),
  anthropic: (baseUrl) => createAiSdk("anthropic", { baseUrl }, { name: "house" }),
  "openai-compatible": (baseUrl) => createAiSdk("openai-compatible", { baseUrl }, { name: "house" }),
  gateway: (baseUrl) => createGateway({ baseUrl }, { name: "house" }),
} satisfies Record<string, (baseUrl: string) => AgentDriver>;

const UNAVAILABLE = { modelFailure: "unavailable", retryable: true } as const;

/** Bodies as the services send them. Each kind meets each: a proxy may stand before any of them. */
const ANSWERS: [name: string, status: number, body: unknown, Pick<DriverError, "modelFailure" | "retryable">][] = [
  [
    "OpenAI: the prompt does not fit",
    400,
    { error: { message: "Too many tokens.", type: "invalid_request_error", code: "context_length_exceeded" } },
    { modelFailure: "too-long", retryable: false },
  ],
  [
    "Anthropic: the prompt does not fit",
    400,
    { type: "error", error: { type: "invalid_request_error", message: "prompt is too long: 208310 tokens > 200000" } },
    { modelFailure: "too-long", retryable: false },
  ],
  [
    "vLLM: the prompt does not fit",
    400,
    { object: "error", message: "This model's maximum context length is 4096 tokens.", code: 400 },
    { modelFailure: "too-long", retryable: false },
  ],
  [
    "a server that answers with a text",
    413,
    { error: "prompt is too long" },
    { modelFailure: "too-long", retryable: false },
  ],
  [
    "a rate limit",
    429,
    { error: { message: "Slow down.", code: "rate_limit_exceeded" } },
    { modelFailure: "unavailable", retryable: true },
  ],
  [
    "a rate limit that quotes a prompt",
    429,
    { error: { message: "prompt is too long", code: "rate_limit_exceeded" } },
    { modelFailure: "unavailable", retryable: true },
  ],
  [
    "Anthropic: overloaded",
    529,
    { type: "error", error: { type: "overloaded_error" } },
    { modelFailure: "unavailable", retryable: true },
  ],
  ["a server error", 500, { error: { message: "Oh no." } }, { modelFailure: "unavailable", retryable: true }],
  ["a gateway's page", 502, "<html>Bad gateway</html>", { modelFailure: "unavailable", retryable: true }],
  [
    "OpenAI: no money",
    429,
    { error: { message: "Pay.", code: "insufficient_quota" } },
    { modelFailure: "quota", retryable: false },
  ],
  [
    "Anthropic: no money",
    402,
    { type: "error", error: { type: "billing_error" } },
    { modelFailure: "quota", retryable: false },
  ],
  [
    "no such model",
    404,
    { error: { message: "No such model.", code: "model_not_found" } },
    { modelFailure: "unknown-model", retryable: false },
  ],
  [
    "a model that the key may not use",
    403,
    { error: { code: "model_not_found" } },
    { modelFailure: "unknown-model", retryable: false },
  ],
  [
    "a refused key",
    401,
    { error: { message: "Wrong key.", code: "invalid_api_key" } },
    { modelFailure: undefined, retryable: false },
  ],
  [
    "a forbidden call",
    403,
    { error: { message: "No.", code: "forbidden" } },
    { modelFailure: undefined, retryable: false },
  ],
  [
    "bad input",
    400,
    { error: { message: "Bad model_not_found.", code: "invalid_value" } },
    { modelFailure: undefined, retryable: false },
  ],
  ["a lock", 409, { error: { message: "Locked." } }, { modelFailure: undefined, retryable: true }],
];

/** Failures that are sent with status 200: those above, and others. */
const FAILED_WITH_200: [name: string, body: unknown, Partial<DriverError>][] = [
  ...ANSWERS.flatMap(([name, code, body, failure]): (typeof FAILED_WITH_200)[number][] => {
    const error = typeof body === "object" && body !== null && "error" in body ? body.error : undefined;
    if (typeof error !== "object" || code === 409) return [];
    return [[`with its status, ${name}`, { error: { status: code, ...error } }, failure]];
  }),
  ["a code as a number", { error: { code: 429, message: "Slow down." } }, UNAVAILABLE],
  ["a code as digits", { error: { code: "429", message: "Slow down." } }, UNAVAILABLE],
  ["a code in words", { error: { code: "rate_limit_exceeded" } }, UNAVAILABLE],
  ["a type in words", { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }, UNAVAILABLE],
  [
    "an error as a text",
    { error: "The server is busy." },
    { ...UNAVAILABLE, message: expect.stringContaining("busy") },
  ],
  ["no money", { error: { code: "insufficient_quota" } }, { modelFailure: "quota", retryable: false }],
  ["no such model", { error: { code: "model_not_found" } }, { modelFailure: "unknown-model", retryable: false }],
  ["a refused key", { error: { code: "invalid_api_key" } }, { modelFailure: undefined, retryable: false }],
  [
    "a prompt that does not fit",
    { error: { code: 400, message: "maximum context length is 4096" } },
    { modelFailure: "too-long", retryable: false },
  ],
  [
    "another form of error",
    { code: 503, msg: "Come back." },
    { ...UNAVAILABLE, message: expect.stringContaining("Come") },
  ],
  ["an empty object", {}, UNAVAILABLE],
  ["nothing", "", { ...UNAVAILABLE, message: "house answered 200 with nothing" }],
  ["half of an answer", '{"choices":[{"mess', { ...UNAVAILABLE, message: expect.stringContaining("no JSON") }],
  ["a list", [], UNAVAILABLE],
];

describe.each(Object.entries(openers))("failures of a model: %s", (name, openAgent) => {
  let proxy: FaultProxy;
  beforeAll(async () => void (proxy = await startFaultProxy("http://127.0.0.1:1/v1")));
  afterAll(() => proxy.close());

  const fail = async (): Promise<DriverError> => {
    const agent = openAgent(proxy.url);
    return failureOf(agent.run(turnOf({ model: "house/some-model" }), new AbortController().signal));
  };

  test.each(ANSWERS)("%s", async (__, status, body, failure) => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    proxy.inject({ kind: "answer", status, body: text });
    expect(await fail()).toMatchObject(failure);
  });

  test.each(FAILED_WITH_200)("status 200 and %s", async (__, body, failure) => {
    proxy.inject({ kind: "answer", status: 200, body: typeof body === "string" ? body : JSON.stringify(body) });
    expect(await fail()).toMatchObject(failure);
  });

  test("a connection that is cut", async () => {
    proxy.inject({ kind: "cut" });
    expect(await fail()).toMatchObject({ modelFailure: "unavailable", retryable: true });
  });

  test.each([302, 307])("a redirect with %s takes nothing elsewhere", async (status) => {
    const other = await startFaultProxy("http://127.0.0.1:1/v1");
    proxy.inject({ kind: "answer", status, headers: { location: `${other.url}/elsewhere?k=1` }, body: "" });
    const error = await fail();
    await other.close();
    expect(other.requests).toEqual([]);
    expect(error).toMatchObject({
      modelFailure: undefined,
      retryable: false,
      message: expect.stringContaining(
        `house answered ${status} (redirects are not followed: check agents.providers.house.baseUrl)`,
      ),
    });
  });

  test("the time to wait", async () => {
    proxy.inject({ kind: "answer", status: 503, headers: { "retry-after": "9" }, body: "{}" });
    expect(await fail()).toMatchObject({ modelFailure: "unavailable", retryAfterMs: 9000 });
  });

  // One reads the answers of all that the AI SDK speaks to.
  test.each(name === "openai" || name === "gateway" ? [name] : [])(
    "an answer that is far too long is not read to its end: %s",
    async () => {
      proxy.inject({ kind: "answer", status: 200, body: " ".repeat(17 * 1024 * 1024) });
      const message = "house answered 200 with too much: the answer is longer than 16777216 bytes";
      expect(await fail()).toMatchObject({ ...UNAVAILABLE, message });
    },
  );

  test("a web page in place of an answer is an outage", async () => {
    proxy.inject({ kind: "answer", status: 200, headers: { "content-type": "text/html" }, body: "<h1>Welcome</h1>" });
    expect(await fail()).toMatchObject({
      ...UNAVAILABLE,
      message: "house answered 200 with a web page (check agents.providers.house.baseUrl)",
    });
  });
});

test.each(Object.entries(openers))("%s: a server that does not listen is unavailable", async (_, openAgent) => {
  const agent = openAgent("http://127.0.0.1:1/v1");
  const failure = failureOf(agent.run(turnOf({ model: "house/some-model" }), new AbortController().signal));
  expect(await failure).toMatchObject({ modelFailure: "unavailable", retryable: true });
});
