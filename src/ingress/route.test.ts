import { describe, expect, test } from "vitest";
import { matchRoute } from "./route.ts";

describe("a path under the prefix", () => {
  test.each([
    ["/hooks/wake", "wake"],
    ["/hooks/wake/", "wake"],
    ["/hooks/a/b/c", "a/b/c"],
    ["/hooks/caf%C3%A9", "café"],
    ["/hooks/a%20b", "a b"],
    ["/hooks/a%252Fb", "a%2Fb"],
    ["/hooks/...", "..."],
    ["http://gateway.test/hooks/wake?x=1", "wake"],
  ])("%s names the hook %s", (target, hook) => {
    expect(matchRoute(target, "/hooks")?.hook).toBe(hook);
  });

  test.each([
    "/hooks",
    "/hooks/",
    "/hooks?x=1",
    "/hooks//",
    "/hooks//wake",
    "/hooks/wake//",
    "/hooks/wake%2F",
    "/hooks/./wake",
    "/hooks/a/../wake",
    "/hooks/%2e%2e/wake",
    "/hooks/..",
    "/hooks/%zz",
    "/hooks/%ff",
  ])("%s names no hook", (target) => {
    expect(matchRoute(target, "/hooks")).toMatchObject({ hook: undefined });
  });

  test("keeps the path as it came and takes the query apart from it", () => {
    expect(matchRoute("/hooks/a%20b/?x=1?y", "/hooks")).toEqual({
      path: "/hooks/a%20b/",
      search: "x=1?y",
      hook: "a b",
    });
  });
});

test.each(["/", "/hook", "/hooksy/wake", "/HOOKS/wake", "//hooks/wake", "*", "http://gateway.test", "wake"])(
  "%s is not under the prefix",
  (target) => {
    expect(matchRoute(target, "/hooks")).toBeUndefined();
  },
);

test("a prefix may have several segments", () => {
  expect(matchRoute("/in/bound/wake", "/in/bound")?.hook).toBe("wake");
});
