import { expect, test } from "vitest";
import { ExactNumber } from "../../shared/exact-json.ts";
import { widenSchema } from "./payload-schema.ts";

test("a schema is only widened, and stays the same object if the payload fits", () => {
  const first = widenSchema({}, { a: 1, list: [{ x: "s" }], none: null });
  expect(first).toEqual({
    type: "object",
    properties: {
      a: { type: "number" },
      list: { type: "array", items: { type: "object", properties: { x: { type: "string" } } } },
      none: { type: "null" },
    },
  });
  expect(widenSchema(first, { a: 2, list: [] })).toBe(first);
  const second = widenSchema(first, { a: "s", list: [{ y: true }], none: new ExactNumber("1e400") });
  expect(second).toMatchObject({
    properties: {
      a: { type: ["number", "string"] },
      list: { items: { properties: { x: { type: "string" }, y: { type: "boolean" } } } },
      none: { type: ["null", "number"] },
    },
  });
});

test("a schema has no values, and hostile payloads do not make it large", () => {
  const deep = JSON.parse(`${"[".repeat(500)}${"]".repeat(500)}`);
  expect(JSON.stringify(widenSchema({}, { deep })).length).toBeLessThan(500);
  const wide = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`key${index}`, index]));
  expect(Object.keys(widenSchema({}, wide).properties ?? {})).toHaveLength(100);
  const odd = JSON.parse(`{"__proto__":{"x":1},"${"k".repeat(100)}":1}`);
  expect(widenSchema({}, odd)).toEqual({ type: "object" });
});
