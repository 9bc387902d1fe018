import { expect, test } from "vitest";
import { ExactNumber } from "../../core/shared/exact-json.ts";
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

test("payloads that each bring other names do not make a schema large together", () => {
  const names = (part: string, count: number): string[] => Array.from({ length: count }, (_, index) => part + index);
  let schema = {};
  for (const first of names("a", 50)) {
    const inner = Object.fromEntries(names("b", 50).map((name) => [name, { [first]: 1 }]));
    schema = widenSchema(schema, { [first]: inner, late: first });
  }
  expect(JSON.stringify(schema).match(/"(?:[ab]\d+|late)":/g)).toHaveLength(1000);
  const full = schema;
  expect(widenSchema(full, { a0: 7 })).toMatchObject({ properties: { a0: { type: ["number", "object"] } } });
});
