import { describe, expect, test } from "vitest";
import { resolve } from "../../../test/support/mapping.ts";
import type { MappingInput } from "../config/schema/generated.ts";

const order = { id: 7, customer: { name: "Ann" }, note: "<b>&" };

describe("a mapping by template", () => {
  test("makes an agent action from a payload", async () => {
    const mapping = {
      id: "orders",
      match: { path: "shop" },
      messageTemplate: "{{customer.name}}: {{note}} {{payload.id}}",
    };
    expect(await resolve("shop", order, { mappings: [mapping] })).toEqual({
      mapping: "orders",
      actions: [
        {
          kind: "agent",
          message: "Ann: <b>& 7",
          name: "shop",
          trustedName: true,
          sessionKey: expect.stringMatching(/^hook:[0-9a-f-]{36}$/),
          wakeMode: "now",
          deliver: true,
          channel: "last",
          routeBy: "request",
          timeoutSeconds: 600,
          allowUnsafeExternalContent: false,
        },
      ],
      warnings: [],
      log: [],
    });
  });

  test("makes a wake", async () => {
    const mapping = {
      action: "wake",
      textTemplate: "Order {{id}}",
      wakeMode: "next-heartbeat",
      instructions: "Look",
    } as const;
    const { actions } = await resolve("shop", order, { mappings: [mapping] });
    expect(actions).toEqual([
      {
        kind: "wake",
        text: "Order 7",
        mode: "next-heartbeat",
        instructions: "Look",
        allowUnsafeExternalContent: false,
      },
    ]);
  });

  test.each([
    ["critical", "now", []],
    ["warning", "next-heartbeat", []],
    ["", "now", []],
    ["odd", "now", ['wakeMode is now, because "later" is not one of now, next-heartbeat.']],
  ])("chooses the mode of the severity %j by a template", async (severity, wakeMode, warnings) => {
    const template =
      '{{#if (eq severity "critical")}}now{{else if (eq severity "warning")}} next-heartbeat {{else if severity}}later{{/if}}';
    const mapping = { messageTemplate: "x", wakeMode: template };
    const result = await resolve("shop", { severity }, { mappings: [mapping] });
    expect(result).toMatchObject({ actions: [{ wakeMode }], warnings });
    const wake = { action: "wake", textTemplate: "x", wakeMode: template } as const;
    expect((await resolve("shop", { severity }, { mappings: [wake] })).actions).toMatchObject([{ mode: wakeMode }]);
  });

  test("uses templates and settings for all fields", async () => {
    const templates = {
      name: "Shop\n{{id}}",
      sessionKey: "shop:{{id}}",
      channel: "{{query.via}}",
      to: " {{to}} ",
      model: "{{m}}",
      thinking: "{{t}}",
    };
    const settings = {
      deliver: false,
      wakeMode: "next-heartbeat",
      timeoutSeconds: 5,
      instructions: "{{id}}",
    } as const;
    const mapping = {
      messageTemplate: "{{now}} {{method}} {{path}}",
      allowUnsafeExternalContent: true,
      ...templates,
      ...settings,
    };
    const payload = { ...order, to: "C1", m: "a/b", t: "high", now: "payload's own" };
    const { actions } = await resolve("shop", payload, {
      mappings: [mapping],
      request: { query: { via: "slack" } },
    });
    expect(actions).toEqual([
      {
        kind: "agent",
        message: "2026-11-20T10:08:00.000Z POST /hooks/shop",
        name: "Shop 7",
        sessionKey: "shop:7",
        channel: "slack",
        to: "C1",
        model: "a/b",
        thinking: "high",
        deliver: false,
        wakeMode: "next-heartbeat",
        timeoutSeconds: 5,
        instructions: "{{id}}",
        allowUnsafeExternalContent: true,
      },
    ]);
  });

  test("a template that renders blank counts as absent", async () => {
    const blank = {
      name: "{{x}}",
      sessionKey: " {{x}}",
      channel: "{{x}}",
      to: "{{x}}",
      model: "{{x}}",
      thinking: "{{x}}",
    };
    const { actions } = await resolve("shop", order, { mappings: [{ messageTemplate: "x", ...blank }] });
    const [plain] = (await resolve("shop", order, { mappings: [{ messageTemplate: "x" }] })).actions;
    expect(actions).toEqual([{ ...plain, sessionKey: expect.stringMatching(/^hook:/) }]);
  });

  test("without forEach, item and index are the payload's own fields", async () => {
    const { actions } = await resolve(
      "shop",
      { item: "i", index: "x" },
      { mappings: [{ messageTemplate: "{{item}}{{index}}" }] },
    );
    expect(actions).toMatchObject([{ message: "ix" }]);
  });

  test("a payload's __proto__ reaches nothing", async () => {
    const payload = JSON.parse('{"__proto__":{"allowUnsafeExternalContent":true,"channel":"slack"},"id":1}');
    const { actions } = await resolve("shop", payload, {
      mappings: [{ messageTemplate: "{{id}}{{channel}}" }],
    });
    expect(actions).toMatchObject([{ message: "1", channel: "last", allowUnsafeExternalContent: false }]);
  });

  test.each([null, [], 5, "text", [{ a: 1 }]])("accepts any JSON as payload: %j", async (payload) => {
    const { actions } = await resolve("shop", payload, {
      mappings: [{ messageTemplate: "got {{payload}}" }],
    });
    expect(actions).toHaveLength(1);
  });

  test("the policy names the field that it refuses", async () => {
    const config = { hooks: { allowRequestSessionKey: false }, agents: { defaults: { models: ["a/b"] } } };
    const cases: [Partial<MappingInput>, string, string][] = [
      [{ messageTemplate: "{{missing}} \n" }, "empty_message", "messageTemplate"],
      [{ action: "wake", textTemplate: "{{missing}}" }, "empty_message", "textTemplate"],
      [{ channel: "{{note}}" }, "invalid_payload", "channel"],
      [{ model: "{{note}}" }, "model_not_allowed", "model"],
      [{ to: `{{note}}${"x".repeat(512)}` }, "invalid_payload", "to"],
      [{ thinking: "x".repeat(65) }, "invalid_payload", "thinking"],
      [{ sessionKey: "shop:{{id}}" }, "session_key_refused", "sessionKey"],
    ];
    for (const [fields, code, field] of cases) {
      const refused = resolve("shop", order, {
        mappings: [{ id: "m", messageTemplate: "x", ...fields }],
        config,
      });
      const message = expect.stringContaining(field);
      await expect(refused).rejects.toMatchObject({
        status: 400,
        code,
        message,
        detail: { mapping: "m" },
      });
      await expect(refused).rejects.not.toMatchObject({ message: expect.stringContaining("<b>") });
    }
    const fixed = resolve("shop", order, {
      mappings: [{ messageTemplate: "x", sessionKey: "shop" }],
      config,
    });
    expect((await fixed).actions).toMatchObject([{ sessionKey: "shop" }]);
  });

  test("a payload that fails the schema is refused by its field", async () => {
    const schema = { required: ["id"], properties: { id: { type: "string" } } };
    const refused = resolve("shop", order, { mappings: [{ messageTemplate: "x", schema }] });
    await expect(refused).rejects.toMatchObject({
      status: 400,
      code: "invalid_payload",
      message: expect.stringContaining("id must be a string"),
    });
    const closed = resolve("shop", order, { mappings: [{ messageTemplate: "x", schema: false }] });
    await expect(closed).rejects.toMatchObject({ status: 400 });
  });

  test("a request without a mapping gets 404", async () => {
    const refused = resolve("other", order, {
      mappings: [{ match: { path: "shop" }, messageTemplate: "x" }],
    });
    await expect(refused).rejects.toMatchObject({ status: 404, code: "not_found" });
  });

  test("a mapping cannot take wake or agent", async () => {
    const { mapping } = await resolve("wake", { text: "x" }, { mappings: [{ messageTemplate: "taken" }] });
    expect(mapping).toBeUndefined();
  });

  test("a payload nested a hundred thousand deep is refused", async () => {
    const deep = JSON.parse(`{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`);
    const refused = resolve("shop", deep, {
      mappings: [{ messageTemplate: "{{a}}" }],
      request: { rawBody: Buffer.alloc(0) },
    });
    await expect(refused).rejects.toMatchObject({ status: 400, code: "invalid_payload" });
  });
});

describe("forEach", () => {
  const list = { shop: "S", data: { items: [{ n: "a" }, { n: "b" }] } };

  test("makes an action per item", async () => {
    const mapping = {
      forEach: "data.items",
      messageTemplate: "{{shop}} {{index}} {{item.n}} {{data.items.length}}",
      sessionKey: "s:{{item.n}}",
    };
    const { actions } = await resolve("shop", list, { mappings: [mapping] });
    expect(actions).toMatchObject([
      { message: "S 0 a 2", sessionKey: "s:a" },
      { message: "S 1 b 2", sessionKey: "s:b" },
    ]);
  });

  test.each(["data.items", "payload.data.items"])("can narrow %s to its item", async (forEach) => {
    const mapping = {
      forEach,
      forEachNarrows: true,
      messageTemplate: "{{data.items.length}} {{payload.data.items[0].n}}",
    };
    const { actions } = await resolve("shop", list, { mappings: [mapping] });
    expect(actions).toMatchObject([{ message: "1 a" }, { message: "1 b" }]);
    expect(list.data.items).toHaveLength(2);
  });

  test("goes through the lists on the way to a list", async () => {
    const payload = {
      to: "S",
      entry: [{ c: [{ m: [1, 2], by: "x" }, { by: "none" }] }, { c: [{ m: [3], by: "y" }] }, {}],
    };
    const mapping = { forEach: "entry[*].c[*].m", messageTemplate: "{{to}} {{index}} {{item}} {{json entry}}" };
    const { actions } = await resolve("shop", payload, { mappings: [mapping] });
    expect(actions).toMatchObject([
      { message: 'S 0 1 [{"c":[{"m":[1,2],"by":"x"}]}]' },
      { message: 'S 1 2 [{"c":[{"m":[1,2],"by":"x"}]}]' },
      { message: 'S 2 3 [{"c":[{"m":[3],"by":"y"}]}]' },
    ]);
    const scenario = { mappings: [mapping], config: { hooks: { maxFanOut: 2 } } };
    await expect(resolve("shop", payload, scenario)).rejects.toMatchObject({ code: "fan_out_too_large" });
  });

  test("accepts a payload that is a list", async () => {
    const { actions } = await resolve("shop", [{ n: 1 }, { n: 2 }], {
      mappings: [{ forEach: "payload", messageTemplate: "{{item.n}}" }],
    });
    expect(actions).toMatchObject([{ message: "1" }, { message: "2" }]);
  });

  test.each([[{}], [{ data: null }], [{ data: { items: null } }], [{ data: { items: [] } }], [null]])(
    "skips %j",
    async (payload) => {
      const { actions, mapping } = await resolve("shop", payload, {
        mappings: [{ id: "m", forEach: "data.items", messageTemplate: "x" }],
      });
      expect(actions).toEqual([]);
      expect(mapping).toBe("m");
    },
  );

  test.each([{}, "ab", 5, false])("refuses a value that is not a list: %j", async (items) => {
    const refused = resolve(
      "shop",
      { data: { items } },
      { mappings: [{ forEach: "data.items", messageTemplate: "x" }] },
    );
    await expect(refused).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining("data.items"),
    });
  });

  test("has a limit, beyond which the request is refused", async () => {
    const scenario = {
      mappings: [{ forEach: "data.items", messageTemplate: "x" }],
      config: { hooks: { maxFanOut: 2 } },
    };
    expect((await resolve("shop", list, scenario)).actions).toHaveLength(2);
    const over = resolve("shop", { data: { items: [1, 2, 3] } }, scenario);
    await expect(over).rejects.toMatchObject({ status: 413, code: "fan_out_too_large" });
  });

  test("refuses the whole request for one item", async () => {
    const payload = { data: { items: [{ n: "a" }, { n: "" }] } };
    const refused = resolve("shop", payload, {
      mappings: [{ forEach: "data.items", messageTemplate: "{{item.n}}" }],
    });
    await expect(refused).rejects.toMatchObject({ status: 400, code: "empty_message" });
  });

  test("all items share one budget, so they cannot fill the memory", async () => {
    const payload = { data: { items: Array.from({ length: 1000 }, () => "x".repeat(200)) } };
    const refused = resolve("shop", payload, {
      mappings: [{ forEach: "data.items", messageTemplate: "{{json payload}}" }],
    });
    await expect(refused).rejects.toMatchObject({ status: 413, code: "payload_too_large" });
  });
});
