import { describe, expect, test } from "vitest";
import { splitTarget } from "./exchange.ts";
import { matchHook } from "./router.ts";

function match(target: string, prefix = "/hooks") {
  return matchHook(splitTarget(target).path, prefix);
}

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
    expect(match(target)).toEqual({ hook });
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
    "/hooks/%c0%af",
    "/hooks/%00%",
    "/hooks/..%2f..%2fetc",
  ])("%s names no hook", (target) => {
    expect(match(target)).toEqual({ hook: undefined });
  });
});

test.each(["/", "/hook", "/hooksy/wake", "/HOOKS/wake", "//hooks/wake", "*", "http://gateway.test", "wake"])(
  "%s is not under the prefix",
  (target) => {
    expect(match(target)).toBeUndefined();
  },
);

test("a prefix may have several segments", () => {
  expect(match("/in/bound/wake", "/in/bound")).toEqual({ hook: "wake" });
});

test("the query is split from the path, which stays encoded", () => {
  expect(splitTarget("/hooks/a%20b/?x=1?y")).toEqual({ path: "/hooks/a%20b/", search: "x=1?y" });
});
