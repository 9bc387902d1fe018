import { describe, expect, test } from "vitest";
import { resolve, type Scenario } from "../../../../test/support/mapping.ts";
import type { MappingInput } from "../../config/schema/generated.ts";
import type { Resolution } from "../../types.ts";

const OWN_SESSION = /^hook:[0-9a-f-]{36}$/;

describe("a key that lacks a value is not shared", () => {
  const keyed = (template: string): MappingInput => ({
    messageTemplate: "x",
    sessionKey: template,
    dedupe: template,
    coalesce: { key: template, windowMs: 1 },
  });

  function send(template: string, payload: unknown, scenario: Scenario = {}): Promise<Resolution> {
    return resolve("shop", payload, { mappings: [keyed(template)], ...scenario });
  }

  test.each<[string, unknown]>([
    ["hook:x:{{nope}}", {}],
    ["hook:x:{{nope}}", { nope: null }],
    ["hook:x:{{nope}}", { nope: " " }],
    ["hook:{{a}}:{{nope}}", { a: 1 }],
    ["hook:{{a}}:{{truncate nope 9}}", { a: 1 }],
    ["hook:{{a}}:{{lower (default nope b)}}", { a: 1 }],
    ["hook:{{a}}:{{json nope}}", { a: 1 }],
    ["hook:{{a}}:{{#each list}}{{id}}{{/each}}", { a: 1, list: [{ id: 1 }, {}] }],
    ["hook:{{a}}:{{item.id}}", { a: 1 }],
  ])("%s with %j", async (template, payload) => {
    const { actions, idempotency, warnings } = await send(template, payload);
    expect(actions).toMatchObject([{ sessionKey: expect.stringMatching(OWN_SESSION) }]);
    expect(actions[0]).not.toHaveProperty("coalesce");
    expect(idempotency).toBeUndefined();
    expect(warnings).toEqual([
      expect.stringMatching(/sessionKey is not used.*own session/),
      expect.stringMatching(/dedupe is not used/),
      expect.stringMatching(/coalesce\.key is not used/),
    ]);
  });

  test.each<[string, unknown, string]>([
    ["hook:{{a}}:{{#if nope}}{{nope}}{{/if}}", { a: 1 }, "hook:1:"],
    ['hook:{{a}}:{{default nope "none"}}', { a: 1 }, "hook:1:none"],
    ["hook:{{a}}:{{b}}", { a: 0, b: "" }, "hook:0:"],
    ["hook:{{a}}", { a: false }, "hook:false"],
    ["hook:{{#if (eq nope 1)}}one{{else}}other{{/if}}", {}, "hook:other"],
  ])("what the author left out on purpose is no missing value: %s with %j", async (template, payload, key) => {
    const { actions, idempotency, warnings } = await send(template, payload);
    expect(actions).toMatchObject([{ sessionKey: key, coalesce: { key } }]);
    expect([idempotency?.keys, warnings]).toEqual([[key], []]);
  });

  test("an empty template gives no key and no warning, and the default session", async () => {
    const config = { hooks: { defaultSessionKey: "desk" } };
    const { actions, warnings } = await send("{{#if id}}{{id}}{{/if}}", {}, { config });
    expect(actions).toMatchObject([{ sessionKey: "desk" }]);
    expect(warnings).toEqual([]);
  });

  test("nor is it the default session, or one that policy has to allow", async () => {
    const hooks = { defaultSessionKey: "desk", allowedSessionKeyPrefixes: ["desk"], allowRequestSessionKey: false };
    const { actions } = await send("desk:{{id}}", {}, { config: { hooks } });
    expect(actions).toMatchObject([{ sessionKey: expect.stringMatching(OWN_SESSION) }]);
  });

  test("each item has its own; one warning is enough for all", async () => {
    const mappings = [{ ...keyed("s:{{item.id}}"), forEach: "list" }];
    const { actions, warnings } = await resolve("shop", { list: [{}, {}, { id: 1 }] }, { mappings });
    const keys = actions.map((action) => action.kind === "agent" && action.sessionKey);
    expect(new Set(keys).size).toBe(3);
    expect(keys[2]).toBe("s:1");
    expect(warnings).toHaveLength(3);
  });

  test("no warning about a key that is not needed", async () => {
    const transform: Scenario["transform"] = () => ({ sessionKey: "own" });
    const mappings = [
      { messageTemplate: "x", sessionKey: "s:{{id}}", dedupe: "{{id}}", transform: { module: "t.ts" } },
    ];
    const request = { idempotencyKey: "k" };
    expect(await resolve("shop", {}, { mappings, transform, request })).toMatchObject({
      actions: [{ sessionKey: "own" }],
      warnings: [],
    });
    const wake = { action: "wake", textTemplate: "x", sessionKey: "s:{{id}}" } as const;
    expect((await resolve("shop", {}, { mappings: [wake] })).warnings).toEqual([]);
  });
});
