import { describe, expect, test } from "vitest";
import { resolve } from "../../test/support/mapping.ts";

describe("forEach", () => {
  const list = { shop: "S", data: { items: [{ n: "a" }, { n: "b" }] } };

  test("makes an action of each item", async () => {
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

  test.each(["data.items", "payload.data.items"])("can narrow %s to the item", async (forEach) => {
    const mapping = {
      forEach,
      forEachNarrows: true,
      messageTemplate: "{{data.items.length}} {{payload.data.items[0].n}}",
    };
    const { actions } = await resolve("shop", list, { mappings: [mapping] });
    expect(actions).toMatchObject([{ message: "1 a" }, { message: "1 b" }]);
    expect(list.data.items).toHaveLength(2);
  });

  test("can run over a payload that is a list itself", async () => {
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

  test.each([{}, "ab", 5, false])("refuses what is no list: %j", async (items) => {
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

  test("has a limit that cuts nothing in silence", async () => {
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

  test("cannot be made to fill the memory: all items share one budget", async () => {
    const payload = { data: { items: Array.from({ length: 1000 }, () => "x".repeat(200)) } };
    const refused = resolve("shop", payload, {
      mappings: [{ forEach: "data.items", messageTemplate: "{{json payload}}" }],
    });
    await expect(refused).rejects.toMatchObject({ status: 413, code: "payload_too_large" });
  });
});
