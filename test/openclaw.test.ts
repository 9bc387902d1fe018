/** The forms that senders of OpenClaw's hooks use, with `hooks.compat: "openclaw"`. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { UserConfig } from "../src/core/config/schema/generated.ts";
import { findProblems } from "./support/config.ts";
import { type ModelServer, startModels } from "./support/models.ts";
import { type Service, startService } from "./support/service.ts";
import { type SlackServer, startSlack } from "./support/vendors/slack.ts";

let models: ModelServer;
let slack: SlackServer;
let service: Service;

function config(hooks: UserConfig["hooks"] = {}): UserConfig {
  return {
    hooks: {
      compat: "openclaw",
      allowedAgentIds: ["main", "reader"],
      mappings: [
        { id: "fixed", match: { path: "fixed" }, messageTemplate: "x", agentId: "reader", deliver: false },
        { id: "code", match: { path: "code" }, transform: { module: "code.ts" }, deliver: false },
        {
          id: "isolated",
          match: { path: "isolated" },
          messageTemplate: "{{text}}",
          sessionKey: "stable",
          sessionMode: "isolated",
          deliver: false,
          wakeMode: "next-heartbeat",
        },
      ],
      ...hooks,
    },
    agents: {
      providers: {
        local: { kind: "openai-compatible", baseUrl: models.baseUrl },
        claw: { kind: "gateway", baseUrl: models.baseUrl, keepsHistory: false },
      },
      defaults: { model: "local/small", maxAttempts: 1 },
    },
    channels: { slack: { token: slack.token, baseUrl: slack.baseUrl, allow: ["*"] } },
  };
}

const files = {
  "transforms/code.ts": "export default ({ payload }: any) => ({ message: 'x', ...payload });",
};

beforeEach(async () => {
  [models, slack] = await Promise.all([startModels(), startSlack()]);
  models.reply("The build is red.");
  service = await startService({ config: config(), files });
});
afterEach(async () => {
  await service.close();
  await Promise.all([models.close(), slack.close()]);
});

const modelOf = async (hook: string, payload: object) => {
  const { actions, warnings, error } = await service.try(hook, payload);
  return actions ? { model: actions[0].model, warnings } : { error };
};

describe("agentId chooses the gateway's agent", () => {
  test.each([
    ["in a request", "agent", { message: "x", agentId: "reader" }],
    ["in a mapping", "fixed", {}],
    ["in what a transform returns", "code", { agentId: "reader" }],
  ])("%s", async (_where, hook, payload) => {
    expect(await modelOf(hook, payload)).toEqual({ model: "claw/openclaw:reader", warnings: [] });
  });

  test.each([
    ["agent", { message: "x", agentId: "admin" }],
    ["wake", { text: "x", agentId: "admin" }],
    ["code", { agentId: "admin" }],
  ])("only one of hooks.allowedAgentIds: %s", async (hook, payload) => {
    expect(await modelOf(hook, payload)).toEqual({ error: "agentId is not among hooks.allowedAgentIds." });
  });

  test("any one without a list, or with a star in it; none with an empty list", async () => {
    const admin = { message: "x", agentId: "admin" };
    for (const allowedAgentIds of [undefined, ["*"]]) {
      await service.reload(config({ allowedAgentIds }));
      expect(await modelOf("agent", admin)).toMatchObject({ model: "claw/openclaw:admin" });
    }
    await service.reload(config({ allowedAgentIds: [] }));
    expect(await modelOf("agent", admin)).toEqual({ error: "agentId is not among hooks.allowedAgentIds." });
  });

  test.each([5, "", "../x", "a b", "a/b"])("%j is no agent", async (agentId) => {
    const { status, body } = await service.post("agent", { message: "x", agentId });
    expect([status, body.error]).toEqual([400, expect.stringMatching(/^agentId must be/)]);
  });

  test("and a wake has one agent, so the answer says that it is not used", async () => {
    const { status, body } = await service.post("wake", { text: "x", agentId: "main" });
    expect([status, body.warnings]).toEqual([200, [expect.stringMatching(/^agentId was not used/)]]);
  });
});

test("without compat, the fields of a request are unknown, and those of a mapping a problem", async () => {
  const { body } = await service.post("agent", { message: "x", agentId: "reader" });
  expect(body.warnings).toBeUndefined();
  await service.reload(config({ compat: undefined, mappings: [] }));
  const plain = await service.post("agent", { message: "x", agentId: "admin", waitForCompletion: true });
  expect(plain).toMatchObject({
    status: 202,
    body: { warnings: [/agentId/, /waitForCompletion/].map((name) => expect.stringMatching(name)) },
  });
  const { errors } = await findProblems({
    hooks: { mappings: [{ messageTemplate: "x", agentId: "a", sessionMode: "isolated", accountId: "b" }] },
  });
  expect(errors).toEqual(
    ["agentId", "accountId", "sessionMode"].map(
      (field) => `hooks.mappings[0].${field}: This is a field of OpenClaw. Set hooks.compat to "openclaw" to use it.`,
    ),
  );
});

test("runs of one key with sessionMode isolated start without what was said before", async () => {
  for (const text of ["first", "second"])
    await service.settled((await service.post("isolated", { text })).body.eventId);
  expect(JSON.stringify(models.lastMessages())).toContain("second");
  expect(JSON.stringify(models.lastMessages())).not.toContain("first");
  const { runs } = await service.api("/api/runs");
  expect(runs.map(({ sessionKey }: { sessionKey: string }) => sessionKey)).toEqual(["stable", "stable"]);
  const persistent = { message: "third", sessionKey: "stable", deliver: false, wakeMode: "next-heartbeat" };
  await service.settled((await service.post("agent", persistent)).body.eventId);
  expect(JSON.stringify(models.lastMessages())).toContain("first");
});

describe("waitForCompletion", () => {
  const wait = { message: "x", waitForCompletion: true };

  test("answers with the result of the run and of its delivery", async () => {
    const { status, body } = await service.post("agent", { ...wait, channel: "Slack", to: slack.channel });
    expect([status, body]).toMatchObject([
      200,
      {
        ok: true,
        runId: expect.any(String),
        completion: { status: "ok", replyDisposition: "visible", delivered: true, deliveryAttempted: true },
      },
    ]);
    expect(body.completion).not.toHaveProperty("deliveryError");
  });

  test.each([
    ["a reply for nobody", {}, "HEARTBEAT_OK", { replyDisposition: "silent", deliverySuppressionReason: "silent" }],
    ["no delivery", { deliver: false }, "Red.", { replyDisposition: "visible", deliverySuppressionReason: "disabled" }],
  ])("%s", async (_what, fields, reply, completion) => {
    models.reply(reply);
    const { body } = await service.post("agent", { ...wait, ...fields });
    const rest = { status: "ok", delivered: false, deliveryAttempted: false };
    expect(body.completion).toEqual({ ...rest, ...completion });
  });

  test("a run that fails is an answer too, and so is a delivery that fails", async () => {
    const place = { channel: "slack", to: "C00NOWHERE" };
    expect((await service.post("agent", { ...wait, ...place })).body.completion).toMatchObject({
      status: "ok",
      delivered: false,
      deliveryAttempted: true,
      deliveryError: "delivery-failed",
    });
    models.fail(400, "No.");
    const { status, body } = await service.post("agent", wait);
    expect([status, body.completion.status]).toEqual([200, "error"]);
  });
});

describe("channels", () => {
  test("have names in any case", async () => {
    const { actions } = await service.try("agent", { message: "x", channel: "SLACK", to: slack.channel });
    expect(actions[0].channel).toBe("slack");
    expect((await service.try("code", { channel: "Slack", to: slack.channel })).actions[0].channel).toBe("slack");
  });

  test("have accounts", async () => {
    const place = { message: "x", channel: "slack", to: slack.channel };
    expect((await service.try("agent", { ...place, accountId: "default" })).actions[0].channel).toBe("slack");
    expect(await service.post("agent", { ...place, accountId: "eu" })).toMatchObject({ status: 400 });
    const { body } = await service.post("agent", { message: "x", accountId: "eu" });
    expect(body.error).toBe("accountId needs a channel.");
  });
});
