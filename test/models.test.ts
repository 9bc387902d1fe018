/** The whole service with models that cannot answer: another one is asked, with less, or the run has failed. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { UserConfig } from "../src/core/config/schema/generated.ts";
import { startFaultProxy } from "../src/contracts/fault-proxy.ts";
import { type ModelServer, startModels } from "./support/models.ts";
import { type Service, startService } from "./support/service.ts";

let first: ModelServer;
let second: ModelServer;
let service: Service;

beforeEach(async () => {
  [first, second] = await Promise.all([startModels(), startModels()]);
  service = await startService({ config: toConfig() });
});
afterEach(async () => {
  await service.close();
  await Promise.all([first.close(), second.close()]);
});

interface Changes {
  defaults?: NonNullable<UserConfig["agents"]>["defaults"];
  hooks?: object;
  /** The address of the first model's server. */
  url?: string;
}

function toConfig({ defaults, hooks, url = first.baseUrl }: Changes = {}): UserConfig {
  return {
    agents: {
      providers: { a: { kind: "openai", baseUrl: url }, b: { kind: "anthropic", baseUrl: second.baseUrl } },
      defaults: {
        model: "a/large",
        models: ["a/large", { id: "b/claude-sonnet-4-5", alias: "other" }],
        fallbackModels: ["other"],
        maxAttempts: 2,
        heartbeat: { every: "24h" },
        ...defaults,
      },
      prices: {
        "a/large": { input: 1_000_000, output: 1_000_000 },
        "b/claude-sonnet-4-5": { input: 2_000_000, output: 0 },
      },
    },
    hooks: { mappings: [{ match: { path: "ci" }, messageTemplate: "{{n}}", deliver: false, ...quiet, ...hooks }] },
  };
}

const quiet = { wakeMode: "next-heartbeat" } as const;

/** Posts to /agent and waits until everything is executed. */
async function run(payload: object = {}) {
  const { body } = await service.post("agent", { message: "hello", deliver: false, ...quiet, ...payload });
  return service.settled(body.eventId);
}

describe("fallback models", () => {
  test.each([
    ["overload", 529, "overloaded"],
    ["a rate limit", 429, "rate_limit_exceeded"],
    ["quota", 429, "insufficient_quota"],
    ["an unknown model", 404, "model_not_found"],
  ])("after %s the next is asked in the same attempt, and its price applies", async (_, status, code) => {
    first.fail(status, "No.", undefined, code);
    second.reply("From the second.");
    const event = await run();
    expect(event.runs).toMatchObject([
      { state: "done", attempts: 1, reply: "From the second.", model: expect.stringMatching(/^b\//) },
    ]);
    const [{ usage, cost, warnings }] = event.runs;
    expect(warnings).toEqual([expect.stringMatching(new RegExp(`^a answered ${status}`))]);
    expect(cost).toBe(usage.inputTokens * 2);
    expect([first.conversations().length, second.conversations().length]).toEqual([1, 1]);
  });

  test("after no connection the next is asked", async () => {
    await service.reload(toConfig({ url: "http://127.0.0.1:1/v1" }));
    second.reply("From the second.");
    expect((await run()).runs).toMatchObject([{ state: "done", attempts: 1, reply: "From the second." }]);
  });

  test.each([
    ["bad input", 400, "invalid_value"],
    ["a refused key", 401, "invalid_api_key"],
  ])("after %s none is asked", async (_, status, code) => {
    first.fail(status, "No.", undefined, code);
    second.reply("From the second.");
    expect((await run()).runs).toMatchObject([{ state: "failed", attempts: 1 }]);
    expect(second.conversations()).toEqual([]);
  });

  test("if the first has no quota and the next is overloaded, the run waits for the next", async () => {
    first.fail(429, "No.", undefined, "insufficient_quota");
    second.fail(529, "Busy.");
    const { body } = await service.post("agent", { message: "hello", deliver: false, ...quiet });
    const outcome = async () => (await service.api(`/api/events/${body.eventId}`)).outcome;
    await expect.poll(outcome).toMatch(/^waiting for b: /);
  });

  test("a mapping has its own, also none, and a request's model may be one of them", async () => {
    first.fail(404, "No.", undefined, "model_not_found");
    second.reply("From the second.");
    await service.reload(toConfig({ hooks: { fallbackModels: [] } }));
    const { body } = await service.post("ci", { n: 1 });
    expect((await service.settled(body.eventId)).runs).toMatchObject([{ state: "failed" }]);
    expect(second.conversations()).toEqual([]);
    expect((await run({ model: "other" })).runs).toMatchObject([{ state: "done", warnings: [] }]);
    expect(second.conversations()).toHaveLength(1);
  });

  test("each must have a provider, and be on the list", async () => {
    const config = toConfig({ defaults: { fallbackModels: ["b/huge"] }, hooks: { fallbackModels: ["none"] } });
    await expect(service.reload(config)).rejects.toThrow(
      /agents\.defaults\.fallbackModels\[0\].*not on the list[^]*mappings\[0\]\.fallbackModels\[0\].*not on the list/,
    );
  });
});

describe("a prompt that is too long", () => {
  test("is tried with half of the history, then without", async () => {
    first.reply("Noted.");
    for (const message of ["one", "two", "three", "four"]) await run({ message, sessionKey: "s" });
    first.limit({ messages: 5 }, "Shorter.");
    expect((await run({ message: "five", sessionKey: "s" })).runs).toMatchObject([
      {
        attempts: 1,
        reply: "Shorter.",
        warnings: ["The prompt did not fit: 4 of 8 earlier messages of the session were left out."],
      },
    ]);
    expect(first.lastMessages().map(({ content }) => JSON.stringify(content))).toEqual([
      expect.stringContaining("three"),
      expect.stringContaining("Noted."),
      expect.stringContaining("four"),
      expect.stringContaining("Noted."),
      expect.stringContaining("five"),
    ]);
    first.limit({ messages: 1 }, "Alone.");
    expect((await run({ message: "six", sessionKey: "s" })).runs).toMatchObject([{ attempts: 1, reply: "Alone." }]);
  });

  test("that does not fit alone has failed, and no other model is asked", async () => {
    first.limit({ messages: 0 }, "");
    expect((await run()).runs).toMatchObject([{ state: "failed", error: expect.stringContaining("too long") }]);
    expect([first.conversations().length, second.conversations().length]).toEqual([1, 0]);
  });

  test("a heartbeat halves its batch: every event is in one prompt", async () => {
    first.limit({ characters: 3000 }, "HEARTBEAT_OK");
    const words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta"];
    for (const text of words) await service.post("wake", { text, mode: "next-heartbeat" });
    await service.post("wake", { text: "theta" });
    await expect
      .poll(async () => (await service.api("/api/status")).queue.pendingSystemEvents, { timeout: 10_000 })
      .toBe(0);
    const { entries } = await service.api("/api/sessions/main?limit=200");
    const told = entries.filter(({ role }: { role: string }) => role === "user");
    expect(told.length).toBeGreaterThan(1);
    for (const word of [...words, "theta"]) {
      expect(told.filter(({ text }: { text: string }) => new RegExp(`\\b${word}\\b`).test(text))).toHaveLength(1);
    }
  });
});

describe("an empty answer", () => {
  test("is a failed turn with its reason", async () => {
    first.reply(" ");
    expect((await run({ deliver: true, channel: "last" })).runs).toMatchObject([
      { state: "failed", attempts: 2, error: expect.stringMatching(/^The answer of a\/.* was empty\.$/) },
    ]);
  });

  test("is done with a warning if it is not delivered", async () => {
    first.reply("");
    expect((await run()).runs).toMatchObject([{ state: "done", warnings: ["The answer was empty."] }]);
  });

  test("acknowledges a heartbeat", async () => {
    first.reply("");
    await service.post("wake", { text: "look" });
    await expect.poll(async () => (await service.api("/api/runs")).runs).toMatchObject([{ state: "done", reply: "" }]);
    expect((await service.api("/api/deliveries")).deliveries).toEqual([]);
  });

  test("a call of a tool that it was not given has failed too, also in a heartbeat", async () => {
    first.callTool();
    expect((await run()).runs).toMatchObject([
      { state: "failed", attempts: 2, error: expect.stringContaining("tool-calls") },
    ]);
    await service.post("wake", { text: "look" });
    await expect
      .poll(async () => (await service.api("/api/runs")).runs[0])
      .toMatchObject({ kind: "heartbeat", state: "failed", error: expect.stringContaining("tool-calls") });
  });
});

test("maxOutputTokens limits the answer, a mapping's own first", async () => {
  first.reply("ok");
  const proxy = await startFaultProxy(first.baseUrl);
  const limits = { defaults: { maxOutputTokens: 99 }, hooks: { maxOutputTokens: 7 } };
  await service.reload(toConfig({ ...limits, url: proxy.url }));
  await run();
  await service.settled((await service.post("ci", { n: 1 })).body.eventId);
  expect(proxy.requests.map(({ body }) => JSON.parse(body).max_output_tokens)).toEqual([99, 7]);
  await proxy.close();
});
