import { describe, expect, test } from "vitest";
import { compileOwnSchema, compileServerSchema, explainUnusable, SCHEMA_LIMITS } from "./tool-schema.ts";

function object(properties: Record<string, unknown>, more: object = {}): Record<string, unknown> {
  return { type: "object", properties, ...more };
}

const problemsOf = (schema: Record<string, unknown>, value: unknown): string[] =>
  compileServerSchema(schema)
    .check(value)
    .map(({ message }) => message);

describe("forms of servers that are used", () => {
  test.each([
    ["no $schema", {}],
    ["draft-04", { $schema: "http://json-schema.org/draft-04/schema#" }],
    ["draft-06", { $schema: "http://json-schema.org/draft-06/schema#" }],
    ["draft-07", { $schema: "http://json-schema.org/draft-07/schema#" }],
    ["2019-09", { $schema: "https://json-schema.org/draft/2019-09/schema" }],
    ["2020-12", { $schema: "https://json-schema.org/draft/2020-12/schema" }],
    ["an unknown $schema", { $schema: "https://schemas.example.com/mine" }],
    ["a $schema that is no text", { $schema: 7 }],
    ["an id of draft-04", { id: "https://schemas.example.com/mine" }],
    ["an $id that a draft has", { $id: "http://json-schema.org/draft-07/schema#" }],
    ["a repeated enum", { properties: { a: { type: "string" }, b: { enum: ["x", "x"] } } }],
    [
      "a repeated enum of draft-07",
      { $schema: "http://json-schema.org/draft-07/schema#", enum: [{ a: "x" }, { a: "x" }] },
    ],
    ["a format that nobody knows", { properties: { a: { type: "string", format: "iban" } } }],
    ["a tuple of draft-07", { properties: { a: { type: "string" }, b: { items: [{ type: "string" }] } } }],
    ["an unknown keyword", { properties: { a: { type: "string", "x-order": 1, deprecated: true } } }],
  ])("%s", (_, more) => {
    const schema = object({ a: { type: "string" } }, more);
    expect(problemsOf(schema, { a: "x" })).toEqual([]);
    expect(problemsOf(schema, { a: 1 })).toHaveLength(1);
  });

  test.each([
    ["a look-ahead", "^P(?!$)(\\d+Y)?$"],
    ["a back reference", "(a)\\1"],
    ["an expression of another language", "(?P<year>\\d+)"],
    ["an escape that the flag u forbids", "^[\\w-.]+$"],
  ])("%s is not checked, and the rest is", (_, pattern) => {
    const schema = compileServerSchema(object({ a: { type: "string", pattern }, b: { pattern: "^b" } }));
    expect(schema.check({ a: "anything", b: "b" })).toEqual([]);
    expect(schema.check({ a: 1 })).toHaveLength(1);
    expect(schema.check({ b: "c" })).toHaveLength(1);
    expect([...schema.unchecked]).toEqual([pattern]);
  });

  test("nor is what an unknown expression decides about other names", () => {
    const patternProperties = { "^(?=x)": { type: "number" } };
    expect(problemsOf({ type: "object", patternProperties, additionalProperties: false }, { a: "x" })).toEqual([]);
    const nested = { type: "object", allOf: [{ patternProperties }], unevaluatedProperties: false };
    expect(problemsOf(nested, { a: "x" })).toEqual([]);
    const known = { type: "object", patternProperties: { "^x": { type: "number" } }, additionalProperties: false };
    expect(problemsOf(known, { a: "x" })).toHaveLength(1);
  });

  test("a format only hints", () => {
    expect(problemsOf(object({ a: { type: "string", format: "email" } }), { a: "nobody" })).toEqual([]);
  });

  test("some arguments are checked without those that are missing", () => {
    const schema = compileServerSchema(object({ a: { type: "string" } }, { required: ["a", "b"] }));
    expect(schema.checkSome({ a: "x" })).toEqual([]);
    expect(schema.checkSome({ a: 1 })).toHaveLength(1);
    expect(schema.check({ a: "x" })).toHaveLength(1);
  });
});

test.each([
  ["a dangling $ref", object({ a: { $ref: "#/$defs/A" } })],
  ["a remote $ref", object({ a: { $ref: "https://schemas.example.com/a.json" } })],
  ["a $ref that is no text", object({ a: { $ref: 5 } })],
  ["required: true", object({ a: { type: "string", required: true } })],
  ["required: true of the whole", { type: "object", required: true }],
  ["required: null", { type: "object", required: null }],
  ["required inside properties", object({ a: {}, required: ["a"] })],
  ["the type any", object({ a: { type: "any" } })],
  ["the type float", object({ a: { type: "float" } })],
  ["a type that is null", { type: null }],
  ["a boolean limit of draft-04", object({ a: { type: "number", minimum: 0, exclusiveMinimum: true } })],
  ["properties: null", { type: "object", properties: null }],
  ["a property that is a text", object({ a: "string" })],
  ["an empty enum", object({ a: { enum: [] } })],
  ["a description that is a number", object({ a: { description: 5 } })],
  ["a reference to itself", { $ref: "#" }],
  [
    "references in a circle",
    { allOf: [{ $ref: "#/$defs/a" }], $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } },
  ],
  ["$async", { $async: true }],
])("%s cannot be used, and the reason says why", (_, schema) => {
  expect(() => compileServerSchema(schema)).toThrow(/\S/);
});

test("a schema of the operator is checked whole: format, expressions and draft", () => {
  expect(compileOwnSchema(object({ a: { format: "email" } })).check({ a: "nobody" })).toHaveLength(1);
  expect(() => compileOwnSchema(object({ a: { pattern: "^(?=x)" } }))).toThrow("linear time");
  expect(() => compileOwnSchema({ $schema: "http://json-schema.org/draft-04/schema#" })).toThrow("draft-04");
});

const repeat = <Value>(count: number, make: (index: number) => Value): Value[] =>
  Array.from({ length: count }, (_, index) => make(index));
const named = (count: number, value: unknown): Record<string, unknown> =>
  Object.fromEntries(repeat(count, (index) => [`p${index}`, value]));
const nest = (depth: number): Record<string, unknown> => (depth === 0 ? {} : { items: nest(depth - 1) });

describe.each([
  ["a server's", compileServerSchema],
  ["an operator's", compileOwnSchema],
])("limits of %s schema", (_, compile) => {
  test.each([
    ["values of an enum", object({ a: { enum: repeat(SCHEMA_LIMITS.enum, (id) => ({ id })) } })],
    ["properties", object(named(SCHEMA_LIMITS.properties, { type: "string" }))],
    ["depth", nest(SCHEMA_LIMITS.depth - 1)],
  ])("%s: within", (__, schema) => {
    expect(compile(schema).check({ a: 1 })).toBeInstanceOf(Array);
  });

  test.each([
    ["values of an enum", object({ a: { enum: repeat(16_000, (id) => ({ id })) } }), "2000 values in an enum"],
    ["texts of an enum", object({ a: { enum: repeat(400_000, String) } }), "2000 values in an enum"],
    ["properties", object(named(1001, {})), "1000 properties"],
    ["patterned properties", { patternProperties: named(4000, {}) }, "1000 patternProperties"],
    ["depth", nest(65), "64 levels"],
    ["depth of a value", { const: JSON.parse("[".repeat(100_000) + "]".repeat(100_000)) }, "64 levels"],
    ["bytes", { description: "x".repeat(256 * 1024) }, "262144 bytes"],
    ["schemas", { anyOf: repeat(20_000, () => ({ $ref: "#" })) }, "4000 schemas"],
    ["expressions", object(named(1000, { pattern: "^a" })), "200 expressions"],
  ])("%s: beyond", (__, schema, part) => {
    expect(() => compile(schema as Record<string, unknown>)).toThrow(part);
  });
});

test("the reason is part of a sentence", () => {
  expect(explainUnusable(new Error("it is odd."))).toBe("its schema cannot be used: it is odd");
});
