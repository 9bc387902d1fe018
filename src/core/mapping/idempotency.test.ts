import { describe, expect, test } from "vitest";
import { resolve, type Scenario } from "../../../test/support/mapping.ts";

const items = { list: [{ id: "a" }, { id: "b" }, {}] };
const mapping = { messageTemplate: "x", dedupe: "{{payload.id}}" };
const perItem = { messageTemplate: "x", forEach: "list", dedupe: "{{item.id}}" };

async function idempotencyOf(payload: unknown, scenario: Scenario, hook = "order"): Promise<unknown> {
  return (await resolve(hook, payload, scenario)).idempotency;
}

describe("the key of an event", () => {
  test("is the header's before the payload's", async () => {
    const payload = { message: "x", text: "x", idempotencyKey: "body" };
    const chosen = { perAction: false, conflictOnOtherContent: true };
    const request = { idempotencyKey: "header" };
    for (const hook of ["agent", "wake"]) {
      expect(await idempotencyOf(payload, {}, hook)).toEqual({ keys: ["body"], ...chosen });
      expect(await idempotencyOf(payload, { request }, hook)).toEqual({ keys: ["header"], ...chosen });
    }
    expect(await idempotencyOf({ id: "7" }, { mappings: [mapping], request })).toEqual({
      keys: ["header"],
      ...chosen,
    });
    expect(await idempotencyOf(items, { mappings: [perItem], request })).toEqual({
      keys: ["header"],
      ...chosen,
    });
  });

  test("is what dedupe renders, and the first event wins", async () => {
    const expected = { keys: ["7"], perAction: false, conflictOnOtherContent: false };
    expect(await idempotencyOf({ id: " 7 " }, { mappings: [mapping] })).toEqual(expected);
  });

  test("is absent if nothing gives one", async () => {
    expect(await idempotencyOf({ id: null }, { mappings: [mapping] })).toBeUndefined();
    expect(await idempotencyOf({ idempotencyKey: "k" }, { mappings: [{ messageTemplate: "x" }] })).toBeUndefined();
  });

  test("is absent if it reads an item that does not exist", async () => {
    const mappings = [{ ...mapping, dedupe: "{{source}}/{{item.id}}" }];
    expect(await idempotencyOf({ source: "imap", messages: [] }, { mappings })).toBeUndefined();
    expect(await idempotencyOf({ source: "shop", item: { id: 7 } }, { mappings })).toMatchObject({
      keys: ["shop/7"],
    });
  });

  test("can be the template's own words if it has no values", async () => {
    const dedupe = "{{#if id}}once{{/if}}";
    expect(await idempotencyOf({ id: 1 }, { mappings: [{ ...mapping, dedupe }] })).toMatchObject({
      keys: ["once"],
    });
  });

  test("is a hash if it is long", async () => {
    const long = { keys: [expect.stringMatching(/^sha256:[0-9a-f]{64}$/)] };
    expect(await idempotencyOf({ id: "x".repeat(256) }, { mappings: [mapping] })).toMatchObject(long);
    expect(await idempotencyOf({ id: "x".repeat(255) }, { mappings: [mapping] })).toMatchObject({
      keys: ["x".repeat(255)],
    });
  });

  test.each(["", " ", "a b", "ä", "a\u0000", "x".repeat(256)])("cannot be the header %j", async (idempotencyKey) => {
    const refused = { status: 400, code: "invalid_idempotency_key" };
    await expect(resolve("wake", { text: "x" }, { request: { idempotencyKey } })).rejects.toMatchObject(refused);
  });
});

describe("the keys of items", () => {
  test("are one per item; an item without a key is never a duplicate", async () => {
    const expected = { keys: ["a", "b", ""], perAction: true, conflictOnOtherContent: false };
    expect(await idempotencyOf(items, { mappings: [perItem] })).toEqual(expected);
  });

  test("stay with their actions if a transform skips or adds some", async () => {
    const mappings = [{ ...perItem, transform: { module: "some.ts" } }];
    const transform: Scenario["transform"] = ({ index }) => [[null], [{}, {}, {}], {}][index ?? 0];
    const { actions, idempotency } = await resolve("order", items, { mappings, transform });
    expect(actions).toHaveLength(4);
    expect(idempotency?.keys.slice(0, 3)).toEqual(["b", "b#2", "b#3"]);
    expect(idempotency?.keys).toHaveLength(4);
  });

  test("are absent if no item is left", async () => {
    expect(await idempotencyOf({ list: [] }, { mappings: [perItem] })).toBeUndefined();
  });
});
