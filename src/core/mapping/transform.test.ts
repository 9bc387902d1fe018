import { describe, expect, test } from "vitest";
import { type InlineTransform, resolve, type Scenario } from "../../../test/support/mapping.ts";
import type { MappingInput } from "../config/schema/generated.ts";
import { isObject } from "../shared/json.ts";
import { TransformError } from "../errors.ts";
import type { TransformCall } from "../transforms/runner.ts";
import type { HookAction, Resolution } from "../types.ts";

describe("transform", () => {
  const agent: MappingInput = { id: "m", messageTemplate: "Order {{id}}", transform: { module: "order.ts" } };
  const wake: MappingInput = {
    id: "m",
    action: "wake",
    textTemplate: "Order {{id}}",
    transform: { module: "order.ts" },
  };

  async function run(mapping: MappingInput, transform: InlineTransform, over: Scenario = {}): Promise<Resolution> {
    return resolve("shop", { id: 7, to: "C1" }, { mappings: [mapping], transform, ...over });
  }

  async function actionsOf(mapping: MappingInput, result: unknown, over?: Scenario): Promise<HookAction[]> {
    return (await run(mapping, () => result, over)).actions;
  }

  describe("a transform's result", () => {
    test("it knows its hook, its mapping and the sender's name of the event", async () => {
      const show: InlineTransform = ({ hook, mapping, event }) => ({
        message: JSON.stringify({ hook, mapping, event }),
      });
      const named = { ...agent, event: "order.{{id}}" };
      expect((await run(named, show)).actions).toMatchObject([
        { message: '{"hook":"shop","mapping":"m","event":"order.7"}' },
      ]);
      expect((await run(agent, show)).actions).toMatchObject([{ message: '{"hook":"shop","mapping":"m"}' }]);
    });

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

    test("several actions of both kinds keep their order", async () => {
      const result = [{ kind: "wake", text: "one" }, null, { message: "two" }, {}];
      expect(await actionsOf(agent, result)).toMatchObject([
        { kind: "wake", text: "one", mode: "now" },
        { kind: "agent", message: "two" },
        { kind: "agent", message: "Order 7" },
      ]);
    });

    test("can turn a wake into an agent action with the mapping's fields", async () => {
      const mapping = { ...wake, channel: "slack", to: "C1", instructions: "Look" };
      expect(await actionsOf(mapping, { kind: "agent", message: "Now" })).toMatchObject([
        { kind: "agent", message: "Now", channel: "slack", to: "C1", instructions: "Look", name: "shop" },
      ]);
    });

    test("accepts either spelling of the mode in both kinds; the kind's own takes precedence", async () => {
      const later = "next-heartbeat";
      expect(await actionsOf(agent, { mode: later })).toMatchObject([{ wakeMode: later }]);
      expect(await actionsOf(agent, { wakeMode: later, mode: "now" })).toMatchObject([{ wakeMode: later }]);
      expect(await actionsOf(wake, { wakeMode: later })).toMatchObject([{ mode: later }]);
      expect(await actionsOf(wake, { mode: later, wakeMode: "now" })).toMatchObject([{ mode: later }]);
      expect(await actionsOf({ ...wake, wakeMode: later }, { mode: null })).toMatchObject([{ mode: "now" }]);
    });

    test("the base can be spread and returned", async () => {
      const spread: InlineTransform = ({ base }) => ({ ...(isObject(base) && base), to: "C2" });
      expect((await run(agent, spread)).actions).toMatchObject([{ message: "Order 7", to: "C2", name: "shop" }]);
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

    test("models and session keys are checked as for other actions", async () => {
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

    describe("if requests may not choose a session key", () => {
      const config = { hooks: { allowRequestSessionKey: false } };
      const trusted = { sessionPrefix: "shop" } as const;
      const refused = {
        status: 400,
        code: "session_key_refused",
        detail: { message: expect.stringMatching(/set sessionPrefix/) },
      };

      test.each<[string, MappingInput]>([
        ["a literal key of the mapping", { sessionKey: "shop" }],
        ["a key of a transform whose mapping has a sessionPrefix", { ...trusted, sessionKey: "order:{{id}}" }],
      ])("%s passes", async (_what, mapping) => {
        const { actions } = await run({ ...agent, ...mapping }, () => ({ sessionKey: "shop" }), { config });
        expect(actions).toMatchObject([{ sessionKey: "shop" }]);
      });

      test.each<[string, MappingInput]>([
        ["a key that a transform returns", {}],
        ["another key than the mapping's", { sessionKey: "other" }],
        ["a templated key that such a transform keeps", { ...trusted, sessionKey: "{{to}}" }],
      ])("%s does not", async (_what, mapping) => {
        const kept = run({ ...agent, ...mapping }, ({ payload }) => ({ sessionKey: Object(payload).to }), { config });
        await expect(kept).rejects.toMatchObject(refused);
      });
    });
  });

  describe("a result that is not an action", () => {
    test.each([
      [5, "it must be an object, not a number"],
      ["text", "it must be an object"],
      [true, "it must be an object"],
      [[[{}]], "it must be an object, not an array"],
      [{ mesage: "x" }, 'mesage is not allowed; did you mean "message"?'],
      [{ message: 5 }, "message must be a string or null, not a number"],
      [{ wakeMode: "soon" }, "wakeMode must be one of"],
      [{ channel: "fax" }, "channel must be one of"],
      [{ timeoutSeconds: 0 }, "timeoutSeconds must be more than 0"],
      [{ instructions: "obey" }, "instructions is not allowed"],
      [{ message: " " }, "message of the transform's agent action is missing or blank"],
      [{ message: null }, "message of the transform's agent action is missing or blank"],
      [{ kind: "wake" }, "text of the transform's wake is missing or blank"],
      [[{ message: "fine" }, { kind: "wake", text: "" }], "text of the transform's wake is missing or blank"],
    ])("%j fails the hook", async (result, reason) => {
      const failed = run(agent, () => result);
      const detail = {
        mapping: "m",
        message: expect.stringContaining(reason),
        log: [{ level: "log", text: "called" }],
      };
      await expect(failed).rejects.toMatchObject({ status: 500, code: "transform_failed", detail });
      await expect(failed).rejects.toMatchObject({ message: "The transform of this hook failed." });
    });

    test("undefined from a mapping without a template fails", async () => {
      const failed = run({ transform: { module: "order.ts" } }, () => undefined);
      await expect(failed).rejects.toMatchObject({ status: 500, code: "transform_failed" });
    });

    test("a base that rendered blank is the payload's fault, unless the transform fills it", async () => {
      const blank = { ...agent, messageTemplate: "{{missing}}" };
      await expect(run(blank, () => undefined)).rejects.toMatchObject({ status: 400, code: "empty_message" });
      expect(await actionsOf(blank, { message: "filled" })).toMatchObject([{ message: "filled" }]);
    });

    test("more actions than a request may result in", async () => {
      const many = Array.from({ length: 4 }, () => ({}));
      const refused = run(agent, () => many, { config: { hooks: { maxFanOut: 3 } } });
      await expect(refused).rejects.toMatchObject({ status: 413, code: "fan_out_too_large" });
    });
  });

  describe("a transform that fails", () => {
    test("gives the operator all details and the caller none", async () => {
      const failed = run(agent, () => {
        throw new Error("secret reason");
      });
      const detail = {
        mapping: "m",
        message: "Error: secret reason",
        trace: "at transform (check.ts:3:9)",
        log: [{ level: "log", text: "called" }],
      };
      await expect(failed).rejects.toMatchObject({ status: 500, code: "transform_failed", detail });
      await expect(failed).rejects.not.toMatchObject({ message: expect.stringContaining("secret") });
    });

    test("asks the caller to retry if the sandbox is busy", async () => {
      const refused = run(agent, () => {
        throw new TransformError("unavailable", "1000 calls wait");
      });
      await expect(refused).rejects.toMatchObject({ status: 503, headers: { "Retry-After": "1" } });
    });

    test("tells the caller when to retry if the circuit breaker is open", async () => {
      const refused = run(agent, () => {
        throw new TransformError("unavailable", "open", { retryAfterMs: 3200 });
      });
      await expect(refused).rejects.toMatchObject({ status: 503, headers: { "Retry-After": "4" } });
    });
  });

  test("the items of a request share one time limit", async () => {
    const limits: unknown[] = [];
    const list = { items: Array.from({ length: 5 }, () => "a") };
    const resolved = resolve("shop", list, {
      mappings: [{ ...agent, forEach: "items" }],
      transform: ({ timeoutMs }) => void limits.push(timeoutMs),
      runMs: 400,
    });
    const message = "The transform ran longer than 1000 ms for all items together.";
    await expect(resolved).rejects.toMatchObject({ code: "transform_failed", detail: { message } });
    expect(limits).toEqual([1000, 600, 200]);
  });

  describe("what a transform is given", () => {
    async function inputsOf(mapping: MappingInput, payload: unknown): Promise<TransformCall[]> {
      const inputs: TransformCall[] = [];
      await resolve("shop", payload, {
        mappings: [mapping],
        transform: (input) => void inputs.push(input),
        request: { query: { a: "1" } },
      });
      return inputs;
    }

    test("the request and the base", async () => {
      const [input] = await inputsOf({ ...agent, sessionKey: "s:{{id}}", model: "{{missing}}" }, { id: 7 });
      expect(input).toMatchObject({
        payload: { id: 7 },
        payloadIsBody: true,
        headers: { "content-type": "application/json" },
        query: { a: "1" },
        path: "/hooks/shop",
        method: "POST",
        now: "2026-11-20T10:08:00.000Z",
      });
      expect(input?.base).toEqual({
        kind: "agent",
        message: "Order 7",
        name: "shop",
        sessionKey: "s:7",
        wakeMode: "now",
        deliver: true,
        channel: "last",
        allowUnsafeExternalContent: false,
      });
      expect(input).not.toHaveProperty("item");
    });

    test("a wake's base in a wake's fields", async () => {
      const [input] = await inputsOf(wake, { id: 7 });
      expect(input?.base).toEqual({
        kind: "wake",
        text: "Order 7",
        mode: "now",
        allowUnsafeExternalContent: false,
      });
    });

    test("under forEach one call per item, narrowed if the mapping says so", async () => {
      const each = { messageTemplate: "{{item}}", transform: { module: "x.ts" }, forEach: "list" };
      const payload = { list: ["a", "b"] };
      expect(await inputsOf(each, payload)).toMatchObject([
        { item: "a", index: 0, payload, payloadIsBody: true, base: { message: "a" } },
        { item: "b", index: 1, payload, payloadIsBody: true, base: { message: "b" } },
      ]);
      expect(await inputsOf({ ...each, forEachNarrows: true }, payload)).toMatchObject([
        { payload: { list: ["a"] }, payloadIsBody: false },
        { payload: { list: ["b"] }, payloadIsBody: false },
      ]);
    });

    test("its log is kept in order, up to a limit", async () => {
      const mapping = { messageTemplate: "{{item}}", transform: { module: "x.ts" }, forEach: "list" };
      const payload = { list: Array.from({ length: 1500 }, (_, index) => index) };
      const config = { hooks: { maxFanOut: 2000 } };
      const { log, actions } = await resolve("shop", payload, { mappings: [mapping], config });
      expect(actions).toHaveLength(1500);
      expect(log).toHaveLength(501);
      expect(log.at(-1)).toEqual({ level: "warn", text: expect.stringContaining("500 lines") });
    });
  });
});
