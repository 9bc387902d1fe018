import { expect, test } from "vitest";
import { appendSegment, isWithin, toKeyPath } from "./key-path.ts";

test("segments become one dotted path", () => {
  expect(toKeyPath([])).toBe("");
  expect(toKeyPath(["hooks", "mappings", 0, "channel"])).toBe("hooks.mappings[0].channel");
  expect(toKeyPath([0, "a"])).toBe("[0].a");
});

test("a key that could be misread is quoted", () => {
  expect(appendSegment("headers", "x.y")).toBe('headers["x.y"]');
  expect(appendSegment("headers", "")).toBe('headers[""]');
  expect(appendSegment("headers", "x-y/z")).toBe("headers.x-y/z");
});

test("a key is within itself and what is around it, not within a longer name", () => {
  expect(isWithin("a.b[0].c", "a.b")).toBe(true);
  expect(isWithin("a.b", "a.b")).toBe(true);
  expect(isWithin("a.bc", "a.b")).toBe(false);
  expect(isWithin("a", "a.b")).toBe(false);
});
