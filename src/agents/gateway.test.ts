import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ModelServer, startModels } from "../../test/support/models.ts";
import { describeRemoteAgent, type RemoteAgentUnderTest, turnOf } from "../contracts/agent.ts";
import { type FaultProxy, startFaultProxy } from "../contracts/fault-proxy.ts";
import type { AgentReply, AgentTurn } from "../core/ports/agent.ts";
import { createGateway } from "./gateway.ts";

describeRemoteAgent({ describe, test }, "gateway that keeps no history", open);

describe("gateway", () => {
  let models: ModelServer;
  let proxy: FaultProxy;
  beforeAll(async () => {
    models = await startModels();
    models.reply("ok");
    proxy = await startFaultProxy(models.baseUrl);
  });
  afterAll(async () => {
    await proxy.close();
    await models.close();
  });

  const run = (
    turn: Partial<AgentTurn> = {},
    options: Partial<Parameters<typeof createGateway>[0]> = {},
  ): Promise<AgentReply> =>
    createGateway({ baseUrl: proxy.url, apiKey: "a-gateway-token", ...options }, { name: "house" }).run(
      turnOf({ model: "house/openclaw:main", ...turn }),
      new AbortController().signal,
    );
  const lastHeaders = (): Record<string, unknown> => proxy.requests.at(-1)?.headers ?? {};

  test("calls the agent that the model names, with the token", async () => {
    await run();
    expect(JSON.parse(proxy.requests.at(-1)?.body ?? "")).toMatchObject({ model: "openclaw:main" });
    expect(lastHeaders()).toMatchObject({ authorization: "Bearer a-gateway-token" });
  });

  test("sends the session in a header, and no history", async () => {
    await run({ sessionKey: "hook:7", history: [{ role: "user", text: "earlier" }], message: "now" });
    expect(lastHeaders()).toMatchObject({ "x-openclaw-session-key": "hookline:hook:7" });
    expect(models.lastMessages()).toEqual([{ role: "user", content: "now" }]);
  });

  test("a new session of ours has a new name", async () => {
    await run({ sessionKey: "hook:7", sessionStart: 1_700_000_000_000 });
    expect(lastHeaders()).toMatchObject({ "x-openclaw-session-key": "hookline:hook:7@1700000000000" });
    expect(createGateway({ baseUrl: proxy.url }, { name: "house" }).keepsHistory?.("house/a")).toBe(true);
    const other = createGateway({ baseUrl: proxy.url, keepsHistory: false }, { name: "house" });
    expect(other.keepsHistory?.("house/a")).toBe(false);
  });

  test("can use another header, besides those of the provider", async () => {
    await run({ sessionKey: "hook:7" }, { sessionHeader: "x-session", headers: { "x-tenant": "a" } });
    expect(lastHeaders()).toMatchObject({ "x-session": "hookline:hook:7", "x-tenant": "a" });
    expect(lastHeaders()).not.toHaveProperty("x-openclaw-session-key");
  });

  test.each([
    ["main", "hookline:main"],
    ["agent:main:main", "hookline:agent:main:main"],
    ["Build", "hookline:%42uild"],
    ["grüße 😀", "hookline:gr%c3%bc%c3%9fe %f0%9f%98%80"],
    ["50%", "hookline:50%25"],
  ])("the session key %s becomes a unique header value with a prefix", async (key, header) => {
    await run({ sessionKey: key });
    expect(lastHeaders()["x-openclaw-session-key"]).toBe(header);
  });
});

async function open(): Promise<RemoteAgentUnderTest> {
  const models = await startModels();
  const proxy = await startFaultProxy(models.baseUrl);
  models.reply("Hello.");
  return {
    agent: createGateway({ baseUrl: proxy.url, keepsHistory: false }, { name: "house" }),
    model: "house/openclaw:main",
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
