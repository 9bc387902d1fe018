import { expect, test } from "vitest";
import { parsePath, readPath, replaceAt } from "./path.ts";

test.each([
  ["messages", ["messages"]],
  ["a.b[0].c", ["a", "b", "0", "c"]],
  ["a.b.0.c", ["a", "b", "0", "c"]],
  ["a.[0]", ["a", "0"]],
  ["[2][1]", ["2", "1"]],
])("%s is a path", (text, keys) => {
  expect(parsePath(text)).toEqual(keys);
});

test.each(["", ".", "a..b", "a.", ".a", "a[", "a[]", "a]b"])("%j is no path", (text) => {
  expect(parsePath(text)).toBeUndefined();
});

test("own fields are read, inherited ones are not", () => {
  const payload = JSON.parse('{"a":{"b":[{"c":1}]},"__proto__":{"own":2}}');
  expect(readPath(payload, ["a", "b", "0", "c"])).toBe(1);
  expect(readPath(payload, ["__proto__", "own"])).toBe(2);
  expect(readPath(payload, ["a", "constructor"])).toBeUndefined();
  expect(readPath(payload, ["a", "b", "length", "constructor"])).toBeUndefined();
  expect(readPath(payload, ["a", "b", "map"])).toBeUndefined();
  expect(readPath("text", ["length"])).toBeUndefined();
  expect(readPath(null, ["a"])).toBeUndefined();
});

test("a replacement copies what lies on the path and shares the rest", () => {
  const payload = { list: [{ items: [1, 2] }, "x"], other: {} };
  const replaced = replaceAt(payload, ["list", "0", "items"], [2]);
  expect(replaced).toEqual({ list: [{ items: [2] }, "x"], other: {} });
  expect(payload.list[0]).toEqual({ items: [1, 2] });
  expect(replaced).toHaveProperty("other", payload.other);
});

test("a replacement under __proto__ is a field and no prototype", () => {
  const replaced = replaceAt(JSON.parse('{"__proto__":[1,2]}'), ["__proto__"], [1]);
  expect(Object.getPrototypeOf(replaced)).toBe(Object.prototype);
  expect(JSON.stringify(replaced)).toBe('{"__proto__":[1]}');
});
