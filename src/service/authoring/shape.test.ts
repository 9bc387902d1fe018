import { describe, expect, test } from "vitest";
import * as fc from "../../../test/support/property.ts";
import { compileSchema } from "../../core/config/schema/validator.ts";
import { ExactNumber } from "../../core/shared/exact-json.ts";
import { addValue, createShape, type Shape, toDeclaration, toJsonSchema, toOpenType } from "./shape.ts";

function shapeOf(...values: unknown[]): Shape {
  const shape = createShape();
  for (const value of values) addValue(shape, value);
  return shape;
}

describe("the type of values", () => {
  test.each<[string, unknown[], string]>([
    [
      "one object: every field may be missing",
      [{ a: 1, "b-c": "x" }],
      'interface P {\n  a?: number;\n  "b-c"?: string;\n}',
    ],
    ["only null", [{ a: null }], "interface P {\n  a?: unknown;\n}"],
    ["null and more", [{ a: null }, { a: "x" }, { a: 1.5 }], "interface P {\n  a?: string | number | null;\n}"],
    ["lists", [[1, "x"], [{ a: true }]], "type P = (number | string | {\n  a?: boolean;\n})[];"],
    [
      "lists of objects have the fields of all",
      [[{ a: 1 }, { b: [] }]],
      "type P = {\n  a?: number;\n  b?: unknown[];\n}[];",
    ],
    ["lists with null", [[{ a: 1 }, null]], "type P = ({\n  a?: number;\n} | null)[];"],
    ["an empty object", [{}], "type P = object;"],
    [
      "names that are data",
      [Object.fromEntries(Array.from({ length: 80 }, (_, n) => [`id-${n}`, { n }]))],
      "interface P {\n  [name: string]: {\n    n: number;\n  };\n}",
    ],
    ["no object", ["x", 1], "type P = string | number;"],
  ])("%s", (_what, values, expected) => {
    expect(toDeclaration("P", shapeOf(...values))).toBe(expected);
  });

  test("what many values all have is required", () => {
    const values = Array.from({ length: 6 }, (_, n) => ({ id: n, ...(n > 3 && { note: "x" }) }));
    expect(toDeclaration("P", shapeOf(...values))).toBe("interface P {\n  id: number;\n  note?: string;\n}");
    expect(toJsonSchema(shapeOf(...values))).toEqual({
      type: "object",
      required: ["id"],
      properties: { id: { type: "integer" }, note: { type: "string" } },
    });
  });

  test("a long number counts once", () => {
    const values = Array.from({ length: 6 }, () => ({ id: new ExactNumber("12345678901234567890") }));
    expect(toDeclaration("P", shapeOf(...values))).toBe("interface P {\n  id: number;\n}");
    expect(shapeOf(new ExactNumber("12345678901234567890")).values).toBe(1);
  });

  test("a value that is too deep ends in unknown", () => {
    let value: unknown = "x";
    for (let depth = 0; depth < 10_000; depth++) value = { value };
    expect(toDeclaration("P", shapeOf(value))).toContain("value?: unknown;");
  });
});

test("every value fits the schema that was inferred from it and others", () => {
  const property = fc.property(fc.array(fc.jsonValue(), { minLength: 1, maxLength: 8 }), (values) => {
    const check = compileSchema(toJsonSchema(shapeOf(...values)), { all: true });
    for (const value of values) expect(check(value)).toEqual([]);
  });
  fc.assert(property, { numRuns: 100 });
});

test("of documented examples, what all have is required, and there may be more", () => {
  const shape = shapeOf({ a: { b: 1 }, c: null }, { a: { b: 2, "d-e": "x" }, c: [] });
  expect(toOpenType(shape)).toBe(
    [
      "{",
      "  a: {",
      "    b: number;",
      '    "d-e"?: string;',
      "    [field: string]: unknown;",
      "  };",
      "  c: unknown[] | null;",
      "  [field: string]: unknown;",
      "}",
    ].join("\n"),
  );
});
