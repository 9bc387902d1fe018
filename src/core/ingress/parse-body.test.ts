import { describe, expect, test } from "vitest";
import { createParsers, type ParsedBody } from "./parse-body.ts";

const findParser = createParsers({ readMail: async (source, receivedAt) => ({ mail: String(source), receivedAt }) });
const TYPES = { json: "application/json", form: "application/x-www-form-urlencoded", text: "text/plain" };

function parseBody(type: keyof typeof TYPES, body: Buffer): ParsedBody | Promise<ParsedBody> {
  return findParser(TYPES[type])(body, 0);
}

/** The payload of a body whose parser is synchronous. */
function payloadOf(type: keyof typeof TYPES, text: string): unknown {
  return Object(parseBody(type, Buffer.from(text))).payload;
}

const MARK = "\ufeff";

describe("JSON", () => {
  test.each(["{}", "[1]", '"text"', "12", "true", "null", " {} \n"])("%s is a payload", (text) => {
    expect(parseBody("json", Buffer.from(text))).toEqual({ payload: JSON.parse(text), payloadIsBody: true });
  });

  test("a byte order mark is removed, so the payload is not the body", () => {
    expect(parseBody("json", Buffer.from(`${MARK}{"a":1}`))).toEqual({
      payload: { a: 1 },
      payloadIsBody: false,
    });
  });

  test("prototype keys are keys like any other", () => {
    const payload = payloadOf("json", '{"__proto__":{"admin":true},"constructor":1}');
    expect(Object.keys(Object(payload))).toEqual(["__proto__", "constructor"]);
    expect(payload).not.toHaveProperty("admin");
  });

  test.each([
    ["nothing", ""],
    ["blanks", " \n "],
    ["a mark alone", MARK],
    ["half an object", '{"a":'],
    ["two values", "{} {}"],
    ["NaN", "NaN"],
    ["a truncated UTF-16 escape", '"\\u12"'],
  ])("%s is refused", (_what, text) => {
    expect(() => parseBody("json", Buffer.from(text))).toThrow(
      expect.objectContaining({ status: 400, code: "invalid_json" }),
    );
  });

  test("the error reveals nothing of the body", () => {
    expect(() => parseBody("json", Buffer.from('{"secret": hunter2}'))).toThrow("The body is not valid JSON.");
  });

  test("may nest 1000 levels deep, with brackets in strings not counted", () => {
    const nest = (depth: number) => Buffer.from(`${'{"[\\"[":['.repeat(depth / 2)}${"]}".repeat(depth / 2)}`);
    expect(parseBody("json", nest(1000))).toMatchObject({ payloadIsBody: true });
    expect(() => parseBody("json", nest(1002))).toThrow(expect.objectContaining({ code: "invalid_json" }));
    expect(() => parseBody("json", Buffer.from("[".repeat(100_000) + "]".repeat(100_000)))).toThrow("nests deeper");
  });
});

test.each([
  ["a lone continuation byte", [0x22, 0x80, 0x22]],
  ["an overlong slash", [0x22, 0xc0, 0xaf, 0x22]],
  ["a surrogate", [0x22, 0xed, 0xa0, 0x80, 0x22]],
  ["a truncated sequence", [0x22, 0xe2, 0x82]],
  ["UTF-16", [0xff, 0xfe, 0x7b, 0x00]],
])("invalid UTF-8 is refused: %s", (_what, bytes) => {
  expect(() => parseBody("json", Buffer.from(bytes))).toThrow(
    expect.objectContaining({ status: 400, code: "invalid_utf8" }),
  );
});

describe("a form", () => {
  const parse = (text: string): unknown => payloadOf("form", text);

  test("gives its fields, repeated ones as an array", () => {
    expect(parse("a=1&b=x+y%26&a=2&a=&c&=d&&")).toEqual({ a: ["1", "2", ""], b: "x y&", c: "", "": "d" });
  });

  test("gives the JSON of its payload field", () => {
    expect(parse("payload=%7B%22a%22%3A%5B1%5D%7D&other=1")).toEqual({ a: [1] });
  });

  test.each(['{"a":"50% + x"}', ' [{"a":1}]\n'])("that is one JSON object or array is that JSON: %s", (text) => {
    expect(parseBody("form", Buffer.from(text))).toEqual({
      payload: JSON.parse(text),
      payloadIsBody: true,
      warnings: [expect.stringContaining("Content-Type: application/json")],
    });
    expect(parseBody("form", Buffer.from(`${MARK}${text}`))).toMatchObject({ payloadIsBody: false });
  });

  test.each([
    ['{"a":1}&b=2', { '{"a":1}': "", b: "2" }],
    ["[0]=a", { "[0]": "a" }],
    ["12", { "12": "" }],
    ['"a"', { '"a"': "" }],
  ])("that only begins like JSON, or is another JSON value, is a form: %s", (text, fields) => {
    expect(parseBody("form", Buffer.from(text))).toEqual({ payload: fields, payloadIsBody: false });
  });

  test("that is JSON may not nest deeper than any JSON", () => {
    expect(() => parse("[".repeat(5_000) + "]".repeat(5_000))).toThrow("nests deeper");
  });

  test("a payload field that is not an object or array is a field", () => {
    expect(parse("payload=12")).toEqual({ payload: "12" });
    expect(parse("payload=hello")).toEqual({ payload: "hello" });
  });

  test("prototype names are fields like any other", () => {
    const fields = parse("__proto__=x&constructor=y");
    expect(Object.entries(Object(fields))).toEqual([
      ["__proto__", "x"],
      ["constructor", "y"],
    ]);
  });

  test.each(["a=%zz", "a=%", "%E0%A4=1", "a=%ff"])("%s is refused", (text) => {
    expect(() => parse(text)).toThrow(expect.objectContaining({ status: 400, code: "invalid_form" }));
  });

  test("a payload field with invalid JSON is refused", () => {
    expect(() => parse("payload=%7B%22a%22")).toThrow(expect.objectContaining({ code: "invalid_json" }));
  });

  test("is never the JSON of the body", () => {
    expect(parseBody("form", Buffer.from("a=1"))).toMatchObject({ payloadIsBody: false });
  });
});

describe("text", () => {
  test.each([
    ["text/plain", Buffer.from("<a>Gr\u00fc\u00dfe</a>", "latin1"), /looks like XML.*application\/xml/],
    ["text/plain", Buffer.from('<?xml version="1.0"?><a/>'), /looks like XML.*application\/xml/],
    ["text/plain", Buffer.from("Gr\u00fc\u00dfe", "latin1"), /body's own content type/],
    ["text/plain; charset=iso-8859-1", Buffer.from("<a/>"), /UTF-8.*application\/xml/],
  ])("that is no JSON must name its type: %s %s", async (type, body, message) => {
    const parsed = async (): Promise<unknown> => findParser(type, "any")(body, 0);
    await expect(parsed()).rejects.toMatchObject({ status: 415, message: expect.stringMatching(message) });
  });

  test("may be JSON", () => {
    expect(parseBody("text", Buffer.from('{"a":1}'))).toEqual({ payload: { a: 1 }, payloadIsBody: true });
  });

  test("that is not JSON is an unsupported type", () => {
    expect(() => parseBody("text", Buffer.from("hello"))).toThrow(expect.objectContaining({ status: 415 }));
  });

  test("that begins like JSON and is invalid is invalid JSON", () => {
    expect(() => parseBody("text", Buffer.from(' {"a":'))).toThrow(expect.objectContaining({ status: 400 }));
  });

  test("that is empty is an empty body", () => {
    expect(() => parseBody("text", Buffer.from(""))).toThrow(expect.objectContaining({ status: 400 }));
  });
});

test.each([
  ["", '{"a":[1]}'],
  ["application/json", '{"a":[1]}'],
  ["Application/JSON; charset=utf-8", '{"a":[1]}'],
  ['application/json; charset="UTF8"', '{"a":[1]}'],
  ["application/json;charset=us-ascii", '{"a":[1]}'],
  ["application/cloudevents+json", '{"a":[1]}'],
  ["application/vnd.github.v3+json; charset=utf-8", '{"a":[1]}'],
  ["text/plain", '{"a":[1]}'],
  ["text/json; charset=utf-8", '{"a":[1]}'],
])("%s may hold JSON", async (contentType, body) => {
  expect(await findParser(contentType)(Buffer.from(body), 0)).toEqual({ payload: { a: [1] }, payloadIsBody: true });
});

test.each([
  "multipart/mixed; boundary=x",
  "application/octet-stream",
  "application/jsonp",
  "image/png",
  "application/json; charset=utf-16",
  "text/plain; charset=iso-8859-1",
  "application/json, application/json",
  "json",
  ";",
])("%s is refused", (contentType) => {
  expect(() => findParser(contentType)).toThrow(
    expect.objectContaining({ status: 415, code: "unsupported_media_type" }),
  );
});

test.each(["application/x-ndjson", "application/jsonl", "text/x-ndjson", "application/json-seq"])(
  "%s is refused, and the answer says what to send",
  (contentType) => {
    expect(() => findParser(contentType)).toThrow(/one JSON array.*forEach/);
  },
);

test("a mail is read by the mail reader", async () => {
  expect(await findParser("message/rfc822")(Buffer.from("From: a@b.c\r\n"), 5)).toEqual({
    payload: { mail: "From: a@b.c\r\n", receivedAt: 5 },
    payloadIsBody: false,
  });
});
