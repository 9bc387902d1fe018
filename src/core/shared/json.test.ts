import { expect, test } from "vitest";
import { appendSegment, isWithin, parsePath, readPath, replaceAt, toKeyPath, toText } from "./json.ts";

test.each([
  ["messages", ["messages"]],
  ["a.b[0].c", ["a", "b", "0", "c"]],
  ["a.b.0.c", ["a", "b", "0", "c"]],
  ["a.[0]", ["a", "0"]],
  ["[2][1]", ["2", "1"]],
])("%s is a path", (text, keys) => {
  expect(parsePath(text)).toEqual(keys);
});

test.each(["", ".", "a..b", "a.", ".a", "a[", "a[]", "a]b"])("%j is not a path", (text) => {
  expect(parsePath(text)).toBeUndefined();
});

test("reads own fields, not inherited ones", () => {
  const payload = JSON.parse('{"a":{"b":[{"c":1}]},"__proto__":{"own":2}}');
  expect(readPath(payload, ["a", "b", "0", "c"])).toBe(1);
  expect(readPath(payload, ["__proto__", "own"])).toBe(2);
  expect(readPath(payload, ["a", "constructor"])).toBeUndefined();
  expect(readPath(payload, ["a", "b", "length", "constructor"])).toBeUndefined();
  expect(readPath(payload, ["a", "b", "map"])).toBeUndefined();
  expect(readPath("text", ["length"])).toBeUndefined();
  expect(readPath(null, ["a"])).toBeUndefined();
});

test("a replacement copies the path and shares the rest", () => {
  const payload = { list: [{ items: [1, 2] }, "x"], other: {} };
  const replaced = replaceAt(payload, ["list", "0", "items"], [2]);
  expect(replaced).toEqual({ list: [{ items: [2] }, "x"], other: {} });
  expect(payload.list[0]).toEqual({ items: [1, 2] });
  expect(replaced).toHaveProperty("other", payload.other);
});

test("a replacement at __proto__ is a field, not a prototype", () => {
  const replaced = replaceAt(JSON.parse('{"__proto__":[1,2]}'), ["__proto__"], [1]);
  expect(Object.getPrototypeOf(replaced)).toBe(Object.prototype);
  expect(JSON.stringify(replaced)).toBe('{"__proto__":[1]}');
});

test("joins segments to a path", () => {
  expect(toKeyPath([])).toBe("");
  expect(toKeyPath(["hooks", "mappings", 0, "channel"])).toBe("hooks.mappings[0].channel");
  expect(toKeyPath([0, "a"])).toBe("[0].a");
});

test("quotes ambiguous keys", () => {
  expect(appendSegment("headers", "x.y")).toBe('headers["x.y"]');
  expect(appendSegment("headers", "")).toBe('headers[""]');
  expect(appendSegment("headers", "x-y/z")).toBe("headers.x-y/z");
});

test("a path is within itself and its parents, not within a longer name", () => {
  expect(isWithin("a.b[0].c", "a.b")).toBe(true);
  expect(isWithin("a.b", "a.b")).toBe(true);
  expect(isWithin("a.bc", "a.b")).toBe(false);
  expect(isWithin("a", "a.b")).toBe(false);
});

test.each([
  [undefined, ""],
  [null, ""],
  [false, "false"],
  [0, "0"],
  ["a<b>&", "a<b>&"],
  [[1, { a: null }], '[1,{"a":null}]'],
])("the text of %j is %j", (value, expected) => {
  expect(toText(value)).toBe(expected);
});
