import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ModelServer, startModels } from "../../test/support/models.ts";
import { turnOf } from "../contracts/agent.ts";
import { type FaultProxy, startFaultProxy } from "../contracts/fault-proxy.ts";
import { createAiSdk } from "./ai-sdk.ts";
import type { AgentDriver, AgentReply, AgentTurn } from "../core/ports/agent.ts";
import { createAgent } from "./select.ts";

describe("createAgent", () => {
  let models: ModelServer;
  let proxy: FaultProxy;
  let drivers: Map<string, AgentDriver>;
  beforeAll(async () => {
    models = await startModels();
    models.reply("ok");
    proxy = await startFaultProxy(models.baseUrl);
    const provider = { baseUrl: proxy.url, apiKey: "key" };
    drivers = new Map([
      ["local", createAiSdk("openai-compatible", provider, { name: "local" })],
      ["claude", createAiSdk("anthropic", provider, { name: "claude" })],
    ]);
  });
  afterAll(async () => {
    await proxy.close();
    await models.close();
  });

  const run = (turn: Partial<AgentTurn>, configured = drivers): Promise<AgentReply> =>
    createAgent(configured).run(turnOf(turn), new AbortController().signal);
  const lastBody = (): unknown => JSON.parse(proxy.requests.at(-1)?.body ?? "{}");

  test("without providers it is the echo agent", async () => {
    const reply = await run({ model: "local/some-model" }, new Map());
    expect(reply.text).toContain("[echo: no model is configured]");
  });

  test("uses the provider before the first slash", async () => {
    await run({ model: "local/family/some-model" });
    expect(lastBody()).toMatchObject({ model: "family/some-model" });
    await run({ model: "claude/some-claude" });
    expect(proxy.requests.at(-1)?.headers).toMatchObject({ "x-api-key": "key" });
  });

  test.each([
    ["no model at all", undefined, /agents\.defaults\.model.*local, claude/],
    ["a provider that is not configured", "other/model", /"other\/model".*local, claude/],
    ["a model without a provider", "some-model", /"some-model".*local, claude/],
    ["an inherited property's name", "constructor/model", /"constructor\/model"/],
    ["a provider without a model", "local/", /local\/<model>/],
  ])("%s is a permanent error", async (_case, model, message) => {
    await expect(run({ model })).rejects.toMatchObject({
      name: "DriverError",
      retryable: false,
      message: expect.stringMatching(message),
    });
  });
});
