import { describe, expect, test } from "vitest";
import { resolve, type InlineTransform, type Scenario } from "../../test/support/mapping.ts";
import type { MappingInput } from "../config/generated.ts";
import { isObject } from "../config/is-object.ts";
import type { HookAction, Resolution } from "../types.ts";

const agent: MappingInput = { id: "m", messageTemplate: "Order {{id}}", transform: { module: "order.ts" } };
const wake: MappingInput = {
  id: "m",
  action: "wake",
  textTemplate: "Order {{id}}",
  transform: { module: "order.ts" },
};

async function run(
  mapping: MappingInput,
  transform: InlineTransform,
  over: Scenario = {},
): Promise<Resolution> {
  return resolve("shop", { id: 7, to: "C1" }, { mappings: [mapping], transform, ...over });
}

async function actionsOf(mapping: MappingInput, result: unknown, over?: Scenario): Promise<HookAction[]> {
  return (await run(mapping, () => result, over)).actions;
}

describe("a transform's result", () => {
  test("undefined keeps the base", async () => {
    expect(await actionsOf(agent, undefined)).toMatchObject([{ kind: "agent", message: "Order 7" }]);
  });

  test.each([[null], [[]], [[null, null]]])("%j skips", async (result) => {
    expect(await run(agent, () => result)).toMatchObject({ mapping: "m", actions: [] });
  });

  test("its fields win over the base, the others stay", async () => {
    const mapping = { ...agent, to: "{{to}}", channel: "slack", deliver: false };
    const [action] = await actionsOf(mapping, { message: "Mine", deliver: true, timeoutSeconds: 3 });
    expect(action).toMatchObject({
      message: "Mine",
      to: "C1",
      channel: "slack",
      deliver: true,
      timeoutSeconds: 3,
    });
  });

  test("null clears a field to its default", async () => {
    const fields = {
      name: "N",
      sessionKey: "s",
      deliver: false,
      channel: "slack",
      to: "C1",
      model: "a/b",
      thinking: "high",
    };
    const mapping: MappingInput = {
      ...agent,
      ...fields,
      wakeMode: "next-heartbeat",
      timeoutSeconds: 5,
      allowUnsafeExternalContent: true,
    };
    const cleared = Object.keys({
      ...fields,
      wakeMode: 0,
      timeoutSeconds: 0,
      allowUnsafeExternalContent: 0,
      kind: 0,
    });
    const [action] = await actionsOf(mapping, Object.fromEntries(cleared.map((field) => [field, null])));
    const [plain] = await actionsOf(agent, undefined);
    expect(action).toEqual({ ...plain, sessionKey: expect.stringMatching(/^hook:[0-9a-f-]{36}$/) });
  });

  test("several actions of both kinds come in order", async () => {
    const result = [{ kind: "wake", text: "one" }, null, { message: "two" }, {}];
    expect(await actionsOf(agent, result)).toMatchObject([
      { kind: "wake", text: "one", mode: "now" },
      { kind: "agent", message: "two" },
      { kind: "agent", message: "Order 7" },
    ]);
  });

  test("can turn a wake into an agent action, which has the mapping's fields", async () => {
    const mapping = { ...wake, channel: "slack", to: "C1", instructions: "Look" };
    expect(await actionsOf(mapping, { kind: "agent", message: "Now" })).toMatchObject([
      { kind: "agent", message: "Now", channel: "slack", to: "C1", instructions: "Look", name: "shop" },
    ]);
  });

  test("takes either spelling of the mode in both kinds, the kind's own first", async () => {
    const later = "next-heartbeat";
    expect(await actionsOf(agent, { mode: later })).toMatchObject([{ wakeMode: later }]);
    expect(await actionsOf(agent, { wakeMode: later, mode: "now" })).toMatchObject([{ wakeMode: later }]);
    expect(await actionsOf(wake, { wakeMode: later })).toMatchObject([{ mode: later }]);
    expect(await actionsOf(wake, { mode: later, wakeMode: "now" })).toMatchObject([{ mode: later }]);
    expect(await actionsOf({ ...wake, wakeMode: later }, { mode: null })).toMatchObject([{ mode: "now" }]);
  });

  test("the base can be spread and given back", async () => {
    const spread: InlineTransform = ({ base }) => ({ ...(isObject(base) && base), to: "C2" });
    expect((await run(agent, spread)).actions).toMatchObject([
      { message: "Order 7", to: "C2", name: "shop" },
    ]);
    expect((await run(wake, ({ base }) => base)).actions).toMatchObject([{ kind: "wake", text: "Order 7" }]);
  });
});

describe("the policy over a transform", () => {
  test("it can make content safer, never less safe", async () => {
    const unsafe = { ...agent, allowUnsafeExternalContent: true };
    const refused = { status: 400, code: "unsafe_content_refused", detail: { mapping: "m" } };
    await expect(run(agent, () => ({ allowUnsafeExternalContent: true }))).rejects.toMatchObject(refused);
    expect(await actionsOf(agent, { allowUnsafeExternalContent: false })).toMatchObject([
      { allowUnsafeExternalContent: false },
    ]);
    expect(await actionsOf(unsafe, { allowUnsafeExternalContent: false })).toMatchObject([
      { allowUnsafeExternalContent: false },
    ]);
    expect(await actionsOf(unsafe, { allowUnsafeExternalContent: true })).toMatchObject([
      { allowUnsafeExternalContent: true },
    ]);
  });

  test("models and session keys are refused as they are elsewhere", async () => {
    const config = {
      hooks: { allowedSessionKeyPrefixes: ["hook:"] },
      agents: { defaults: { models: ["a/b"] } },
    };
    const model = run(agent, () => ({ model: "c/d" }), { config });
    await expect(model).rejects.toMatchObject({ status: 400, code: "model_not_allowed" });
    const key = run(agent, () => ({ sessionKey: "other" }), { config });
    await expect(key).rejects.toMatchObject({ status: 400, code: "session_key_refused" });
    expect(await actionsOf(agent, { sessionKey: " MAIN " })).toMatchObject([{ sessionKey: "hook:main" }]);
  });

  test("where requests may not choose a key, the transform may, but not by keeping theirs", async () => {
    const config = { hooks: { allowRequestSessionKey: false } };
    const keyed = { ...agent, sessionKey: "order:{{id}}" };
    expect(await actionsOf(keyed, { sessionKey: "mine" }, { config })).toMatchObject([
      { sessionKey: "mine" },
    ]);
    const kept = run(keyed, ({ base }) => base, { config });
    await expect(kept).rejects.toMatchObject({ status: 400, code: "session_key_refused" });
  });
});
