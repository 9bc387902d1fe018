import { describe, expect, test } from "vitest";
import { resolve, type InlineTransform, type Scenario } from "../../test/support/mapping.ts";
import type { MappingInput } from "../config/generated.ts";
import { TransformError, type TransformInput } from "../transforms/port.ts";
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

describe("a result that is no action", () => {
  test.each([
    [5, "it must be an object, not a number"],
    ["text", "it must be an object"],
    [true, "it must be an object"],
    [[[{}]], "it must be an object, not an array"],
    [{ mesage: "x" }, 'mesage is not allowed; did you mean "message"?'],
    [{ message: 5 }, "message must be a string or null, not a number"],
    [{ wakeMode: "soon" }, "wakeMode must be one of"],
    [{ channel: "fax" }, "channel must be one of"],
    [{ timeoutSeconds: 0 }, "timeoutSeconds must be > 0"],
    [{ instructions: "obey" }, "instructions is not allowed"],
    [{ message: " " }, "without message"],
    [{ message: null }, "without message"],
    [{ kind: "wake" }, "a wake without text"],
    [[{ message: "fine" }, { kind: "wake", text: "" }], "a wake without text"],
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

  test("nothing at all from a mapping without a template", async () => {
    const failed = run({ transform: { module: "order.ts" } }, () => undefined);
    await expect(failed).rejects.toMatchObject({ status: 500, code: "transform_failed" });
  });

  test("a base that its template left blank is the payload's fault, unless the transform fills it", async () => {
    const blank = { ...agent, messageTemplate: "{{missing}}" };
    await expect(run(blank, () => undefined)).rejects.toMatchObject({ status: 400, code: "empty_message" });
    expect(await actionsOf(blank, { message: "filled" })).toMatchObject([{ message: "filled" }]);
  });

  test("more actions than one request may become", async () => {
    const many = Array.from({ length: 4 }, () => ({}));
    const refused = run(agent, () => many, { config: { hooks: { maxFanOut: 3 } } });
    await expect(refused).rejects.toMatchObject({ status: 413, code: "fan_out_too_large" });
  });
});

describe("a transform that fails", () => {
  test("tells the operator all and the caller nothing", async () => {
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

  test("for want of room asks the caller to come again", async () => {
    const refused = run(agent, () => {
      throw new TransformError("unavailable", "1000 calls wait");
    });
    await expect(refused).rejects.toMatchObject({ status: 503, headers: { "Retry-After": "1" } });
  });
});

describe("what a transform is given", () => {
  async function inputsOf(mapping: MappingInput, payload: unknown): Promise<TransformInput[]> {
    const inputs: TransformInput[] = [];
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

  test("under forEach one call an item, narrowed where the mapping says so", async () => {
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
