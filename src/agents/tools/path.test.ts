import * as fc from "../../../test/support/property.ts";
import { expect, test } from "vitest";
import { compilePath, RefusedArgument } from "./path.ts";

test.each([
  ["/t/{id}", "a/b", "/t/a%2Fb"],
  ["/t/{+id}", "a/b c", "/t/a/b%20c"],
  ["/t/{id}", "a?b#c", "/t/a%3Fb%23c"],
  ["/t/{id}", "100%", "/t/100%25"],
  ["/t/{id}", 7, "/t/7"],
  ["/t/{id}", "a..b", "/t/a..b"],
  ["/t/{id}", "...", "/t/..."],
])("%s with %j is %s", (template, id, path) => {
  expect(compilePath(template).render({ id })).toBe(path);
});

test.each([
  "",
  ".",
  "..",
  "../x",
  "x/..",
  "x/../y",
  "%2e%2e",
  "%2E.",
  ".%2e/x",
  "%252e%252e",
  "x%2f..%2fy",
  "x%252f%252e%252e",
  "..;/x",
  "..%3b",
  "a\\b",
  "%5c",
  "%255c",
  "a\nb",
  "%0a",
  "%250d",
  "\u0000",
  "\u0085",
  "\ud800",
  `%${"25".repeat(9)}2e`,
  null,
  undefined,
  {},
  ["x"],
])("%j is refused", (id) => {
  for (const template of ["/t/{id}", "/t/{+id}"]) {
    expect(() => compilePath(template).render({ id })).toThrow(RefusedArgument);
  }
});

test.each(["/x", "x/", "a//b", "//other.example/x", "/"])("%j has an empty segment, which is refused", (id) => {
  expect(() => compilePath("/t/{+id}").render({ id })).toThrow("empty segment");
  expect(compilePath("/t/{id}").render({ id })).toBe(`/t/${encodeURIComponent(id)}`);
});

test("two harmless values cannot be a segment .. together", () => {
  expect(() => compilePath("/{a}{b}/x").render({ a: ".", b: ".x" })).toThrow(RefusedArgument);
  expect(() => compilePath("/.{b}/x").render({ b: "." })).toThrow(RefusedArgument);
  expect(compilePath("/{a}{b}").render({ a: "x", b: "..y" })).toBe("/x..y");
});

test("whatever is filled in, the path stays below the operator's, and the URL parser does not change it", () => {
  const text = fc.oneof(
    fc.string(),
    fc.string({ unit: fc.constantFrom(".", "/", "%", "2", "e", "f", "5", "c", "\\", "?", "#", "@", ":") }),
  );
  fc.assert(
    fc.property(text, fc.constantFrom("/base/{id}", "/base/{+id}", "/base/{id}/end"), (id, template) => {
      let path: string;
      try {
        path = compilePath(template).render({ id });
      } catch (error) {
        expect(error).toBeInstanceOf(RefusedArgument);
        return;
      }
      const url = new URL(`https://host.example${path}`);
      expect([url.host, url.pathname, url.search, url.hash]).toEqual(["host.example", path, "", ""]);
      expect(path.startsWith("/base/")).toBe(true);
      if (!template.includes("+")) expect(path.split("/")).toHaveLength(template.split("/").length);
    }),
    { numRuns: 1000 },
  );
});
