import formatsPlugin from "ajv-formats";
import { describe, expect, test } from "vitest";
import { compileSchema } from "./validator.ts";

const formats = formatsPlugin.default;

const messages = (schema: unknown, value: unknown, all = false): string[] =>
  compileSchema(schema, { all })(value).map((problem) => problem.message);

describe("compileSchema", () => {
  test("a value that fits has no problems", () => {
    expect(messages({ type: "object", required: ["a"] }, { a: 1 })).toEqual([]);
    expect(messages(true, { a: 1 })).toEqual([]);
  });

  test("a problem names its field, its path and what came", () => {
    const schema = { properties: { messages: { items: { properties: { from: { type: "string" } } } } } };
    expect(compileSchema(schema)({ messages: [{ from: 7 }] })).toEqual([
      {
        path: "messages[0].from",
        segments: ["messages", 0, "from"],
        rule: "must be a string, not a number",
        message: "messages[0].from must be a string, not a number",
        types: ["string"],
      },
    ]);
  });

  test.each([
    [{ required: ["text"] }, {}, "text is required"],
    [{ type: "object" }, [], "the payload must be an object, not an array"],
    [
      { properties: { n: { type: ["integer", "null"] } } },
      { n: 1.5 },
      "n must be a whole number or null, not a fraction",
    ],
    [{ properties: { m: { enum: ["a", null] } } }, { m: "secret" }, 'm must be one of "a", null'],
    [{ properties: { t: { pattern: "\\S" } } }, { t: " " }, "t must not be blank"],
    [{ properties: { t: { format: "email" } } }, { t: "secret" }, 't must match format "email"'],
    [{ properties: { t: { const: 1 } } }, { t: 2 }, "t must be equal to constant"],
    [{ properties: { t: { maxLength: 2 } } }, { t: "abc" }, "t must have at most 2 characters"],
    [{ properties: { t: { minLength: 2 } } }, { t: "a" }, "t must have at least 2 characters"],
    [{ properties: { t: { maxItems: 1 } } }, { t: [1, 2] }, "t must have at most 1 item"],
    [{ properties: { n: { minimum: 1 } } }, { n: 0 }, "n must be at least 1"],
    [{ properties: { n: { maximum: 9 } } }, { n: 10 }, "n must be at most 9"],
    [{ properties: { n: { exclusiveMinimum: 0 } } }, { n: 0 }, "n must be more than 0"],
    [{ properties: { n: { exclusiveMaximum: 0 } } }, { n: 0 }, "n must be less than 0"],
    [{ dependencies: { a: ["b"] } }, { a: 1 }, "the payload must have property b when property a is present"],
    [{ not: { required: ["a"] } }, { a: "secret" }, "the payload must not match the schema of not"],
    [{ propertyNames: { pattern: "^[a-z]+$" } }, { A1: 1 }, "A1 must have a name that matches ^[a-z]+$"],
    [
      { propertyNames: { maxLength: 1, description: "One letter." } },
      { ab: 1 },
      "ab must have another name (One letter)",
    ],
    [false, { a: "secret" }, "the payload boolean schema is false"],
    [{ if: { required: ["a"] }, else: { required: ["b"] } }, {}, "b is required"],
  ])("%j says so", (schema, value, sentence) => {
    expect(messages(schema, value)).toEqual([sentence]);
  });

  test("a message never repeats a value or an odd field name", () => {
    const open = { additionalProperties: { type: "number" } };
    expect(messages(open, { "<b>secret</b>": "secret" })).toEqual(["the payload must be a number, not a string"]);
    const closed = { properties: { box: { additionalProperties: false, properties: { known: {} } } } };
    expect(compileSchema(closed)({ box: { secret: 1 } })).toEqual([
      {
        path: "box.secret",
        segments: ["box", "secret"],
        rule: "is not allowed",
        message: "box contains a field that is not allowed",
        unknown: { name: "secret", known: ["known"] },
      },
    ]);
  });

  test("of several forms, only the one that was meant is reported", () => {
    const schema = {
      items: { anyOf: [{ type: "string" }, { type: "object", required: ["use"] }] },
    };
    expect(messages(schema, [{}])).toEqual(["[0].use is required"]);
    expect(messages(schema, [5])).toEqual(["[0] must be a string or an object, not a number"]);
    const either = { items: { anyOf: [{ required: ["from"] }, { required: ["sender"] }] } };
    expect(messages(either, [{}])).toEqual(["[0] must have one of from, sender"]);
    expect(messages({ oneOf: [{ minimum: 5 }, { multipleOf: 7 }] }, 3)).toEqual([
      "the payload matches none of the allowed forms",
    ]);
  });

  test("the first problem alone, or all of them", () => {
    const schema = { required: ["a", "b"] };
    expect(messages(schema, {})).toEqual(["a is required"]);
    expect(messages(schema, {}, true)).toEqual(["a is required", "b is required"]);
  });

  test("the drafts 2019-09 and 2020-12 are known by their $schema", () => {
    const tuple = (draft: string, keyword: string): string[] =>
      messages({ $schema: `https://json-schema.org/draft/${draft}/schema`, [keyword]: [{ type: "string" }] }, [1]);
    expect(tuple("2020-12", "prefixItems")).toEqual(["[0] must be a string, not a number"]);
    expect(tuple("2019-09", "items")).toEqual(["[0] must be a string, not a number"]);
  });

  test("the same $id may come again, as on a reload", () => {
    const schema = (type: string): unknown => ({ $id: "https://example.com/order", type });
    expect(messages(schema("string"), 1)).toHaveLength(1);
    expect(messages(schema("number"), 1)).toEqual([]);
  });

  test.each([
    ["text", "must be an object"],
    [{ type: "strnig" }, 'type must be one of "array", "boolean"'],
    [{ $ref: "#/definitions/absent" }, "can't resolve reference"],
    [{ $async: true }, "$async"],
    [{ $schema: "http://json-schema.org/draft-04/schema#" }, "draft-04"],
  ])("an invalid schema throws: %j", (schema, part) => {
    expect(() => compileSchema(schema)).toThrow(part);
  });

  test("inherited names do not count as fields", () => {
    expect(messages({ required: ["constructor"] }, {})).toEqual(["constructor is required"]);
  });

  test("a value nested beyond the stack is a problem, not a crash", () => {
    const depth = 200_000;
    const value: unknown = JSON.parse("[".repeat(depth) + "]".repeat(depth));
    expect(messages({ items: { $ref: "#" } }, value)).toEqual(["the payload is nested too deeply"]);
  });

  test.each([{ const: { x: 1 } }, { enum: [{ x: 1 }] }])(
    "a value's own methods are a problem in a comparison, not a crash: %j",
    (schema) => {
      expect(messages(schema, { valueOf: 1 })).toEqual([
        "the payload holds a valueOf or toString, and cannot be compared",
      ]);
      expect(messages(schema, { x: 1 })).toEqual([]);
    },
  );

  test("foreign expressions run in linear time; one that cannot is refused", () => {
    const schema = { properties: { a: { pattern: "^(a+)+$" } }, patternProperties: { "^(\\w+)+=$": false } };
    const check = compileSchema(schema, { all: true, untrusted: true });
    const hostile = `${"a".repeat(20)}!`;
    expect(check({ a: hostile, [hostile]: 1 }).map(({ path }) => path)).toEqual(["a"]);
    expect(check({ a: "aa", "b=": 1 }).map(({ path }) => path)).toEqual(["b="]);
    const behind = { properties: { b: { items: { pattern: "^(?!x)" } } } };
    expect(() => compileSchema(behind, { untrusted: true })).toThrow("/^(?!x)/u cannot run in linear time");
    const named = { patternProperties: { "(a)\\1": false } };
    expect(() => compileSchema(named, { untrusted: true })).toThrow("cannot run in linear time");
  });
});

describe("a recursive schema whose branches all lead down", () => {
  test.each([
    ["draft-07", "http://json-schema.org/draft-07/schema#", "$ref"],
    ["2019-09", "https://json-schema.org/draft/2019-09/schema", "$recursiveRef"],
    ["2020-12", "https://json-schema.org/draft/2020-12/schema", "$dynamicRef"],
  ])("ends over a deep payload: %s", (_name, $schema, reference) => {
    const branch = (kind: string): object => ({
      properties: { child: { [reference]: "#" }, kind: { const: kind } },
    });
    const schema = { $schema, anyOf: [branch("a"), branch("b")] };
    const check = compileSchema(schema, { untrusted: true });
    const nest = (depth: number, kind: string): unknown =>
      depth === 0 ? { kind } : { kind: "a", child: nest(depth - 1, kind) };
    expect(check(nest(20, "c")).map(({ message }) => message)).toEqual(["the payload is nested too deeply"]);
    expect(check(nest(9, "c"))).toHaveLength(1);
    expect(check(nest(9, "b"))).toEqual([]);
  });
});

describe("uniqueItems", () => {
  test.each([
    [[], true],
    [[1, "1", true, "true", null, "null", [], {}, "[]", "{}"], true],
    [[0, -0], false],
    [
      [
        { a: 1, b: [2, "x"] },
        { b: [2, "x"], a: 1 },
      ],
      false,
    ],
    [[{ a: 1 }, { a: 1, b: 1 }], true],
    [[["a,b"], ["a", "b"]], true],
    [[Number("1e400"), null], true],
    [[JSON.parse('{"__proto__":1}'), JSON.parse('{"__proto__":2}'), { valueOf: 1 }, { toString: 1 }], true],
  ])("of %j: %s", (items, fit) => {
    expect(compileSchema({ uniqueItems: true })(items).length === 0).toBe(fit);
    expect(messages({ uniqueItems: false }, items)).toEqual([]);
  });

  test("each item is read once, not once for each other", () => {
    let looks = 0;
    const ownKeys = (target: object): ArrayLike<string | symbol> => {
      looks++;
      return Reflect.ownKeys(target);
    };
    const items = Array.from({ length: 100 }, (_, id) => new Proxy({ id }, { ownKeys }));
    expect(messages({ uniqueItems: true }, items)).toEqual([]);
    expect(looks).toBe(100);
  });

  test("a duplicate is reported without its value", () => {
    expect(messages({ uniqueItems: true }, ["x", "x"])).toEqual(["the payload must not have duplicate items"]);
  });
});

describe("the format url is that of ajv-formats", () => {
  test.each([
    ["https://example.com", true],
    ["http://ann:secret@example.com:8080/a?b=c@d#e", true],
    ["ftp://ann@foo.exämple.org/", true],
    ["http://8.8.8.8/x", true],
    ["http://10.1.1.1", false],
    ["http://192.168.0.1", false],
    ["http://172.16.0.1/", false],
    ["http://a@@b.com", true],
    ["http://localhost", false],
    ["http://example.com/a b", false],
    ["https://ex-ample.co.uk?x", false],
    ["mailto:ann@example.com", false],
  ])("%s: %s", (text, fits) => {
    const library = formats.get("url");
    expect(library instanceof RegExp && library.test(text)).toBe(fits);
    expect(messages({ format: "url" }, text)).toHaveLength(fits ? 0 : 1);
  });
});

describe("the check of an untrusted schema", () => {
  const compile = (schema: unknown) => compileSchema(schema, { untrusted: true });

  test("is compiled once for equal schemas", () => {
    expect(compile({ type: "string", minLength: 2 })).toBe(compile({ type: "string", minLength: 2 }));
  });

  test.each([
    [{ const: null }, { const: Infinity }],
    [{ const: 0 }, { const: false }],
    [{ type: "string" }, { type: "string", minLength: 1 }],
  ])("%j and %j are two", (one, other) => {
    expect(compile(one)).not.toBe(compile(other));
  });

  test("may refer to the schema of its draft", () => {
    const check = compile({ $ref: "http://json-schema.org/draft-07/schema#" });
    expect(check({ type: "string" })).toEqual([]);
    expect(check({ type: "text" })).not.toEqual([]);
  });
});
