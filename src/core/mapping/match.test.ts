import { describe, expect, test } from "vitest";
import { resolve, toCompiled, toRequest, toSource } from "../../../test/support/mapping.ts";
import type { MappingInput } from "../config/schema/generated.ts";
import { createMappingIndex, findShadowed } from "./mapping-index.ts";

describe("mapping index", () => {
  type MatchInput = NonNullable<MappingInput["match"]>;

  function find(matches: (MatchInput | undefined)[], request: Parameters<typeof toRequest>): string | undefined {
    const mappings = matches.map((match, index) => toCompiled({ id: `m${index}`, match, messageTemplate: "x" }, index));
    return createMappingIndex(mappings).find(toRequest(...request))?.source.id;
  }

  describe("a mapping matches", () => {
    test.each<[string, MatchInput, Parameters<typeof toRequest>, boolean]>([
      ["by path", { path: "github/issues" }, ["github/issues", {}], true],
      ["by path with slashes around it", { path: "/github/issues/" }, ["github/issues", {}], true],
      ["not by a part of the path", { path: "github" }, ["github/issues", {}], false],
      ["by source", { source: "shop" }, ["any", { source: "shop" }], true],
      ["not by another source", { source: "shop" }, ["any", { source: "shop2" }], false],
      ["not by a source that is not text", { source: "1" }, ["any", { source: 1 }], false],
      ["not by source in a payload that is not an object", { source: "shop" }, ["any", ["shop"]], false],
      ["not by an inherited source", { source: "x" }, ["any", Object.create({ source: "x" })], false],
      ["by path and source", { path: "a", source: "s" }, ["a", { source: "s" }], true],
      ["not by one of the two", { path: "a", source: "s" }, ["b", { source: "s" }], false],
      ["by header, in any case of its name", { headers: { "X-Kind": "push" } }, withHeader("push"), true],
      ["not by a header of another value", { headers: { "X-Kind": "push" } }, withHeader("Push"), false],
      ["not by a missing header", { headers: { "X-Other": "push" } }, withHeader("push"), false],
      ["not by an inherited header", { headers: { constructor: "/./" } }, withHeader("push"), false],
      ["by expression", { headers: { "x-kind": "/^pu/" } }, withHeader("push"), true],
      ["by expression with flags", { headers: { "x-kind": "/^PU/i" } }, withHeader("push"), true],
      ["not by an expression that fails", { headers: { "x-kind": "/^u/" } }, withHeader("push"), false],
      ["by one of several header values", { headers: { "x-kind": ["pull", "push"] } }, withHeader("push"), true],
      ["by a header with a star", { headers: { "x-kind": "pu*" } }, withHeader("push"), true],
      ["not by a header that is negated", { headers: { "x-kind": { not: "push" } } }, withHeader("push"), false],
      ["by a header that is a number", { headers: { "x-kind": 7 } }, withHeader("7"), true],
      ["by where", { where: { required: ["pr"] } }, ["any", { pr: 1 }], true],
      ["not where the schema fails", { where: { required: ["pr"] } }, ["any", { issue: 1 }], false],
      ["anything without a condition", {}, ["any/name", null], true],
    ])("%s", (_name, match, request, expected) => {
      expect(find([match], request) !== undefined).toBe(expected);
    });

    const event = {
      action: "opened",
      number: 7,
      draft: false,
      milestone: null,
      labels: [{ name: "bug" }, { name: "ui" }],
      tags: ["a", 5],
      "a.b": "exact",
      a: { b: "path" },
      repository: { full_name: "acme/shop" },
    };
    type Payload = MatchInput["payload"];

    test.each<[string, Payload, unknown, boolean]>([
      ["by a field", { action: "opened" }, event, true],
      ["not by another value", { action: "closed" }, event, false],
      ["not in another case", { action: "Opened" }, event, false],
      ["by one of several values", { action: ["reopened", "opened"] }, event, true],
      ["by a path", { "repository.full_name": "acme/shop" }, event, true],
      ["by a path that begins at the payload", { "payload.repository.full_name": "acme/shop" }, event, true],
      ["by a star", { "repository.full_name": "acme/*" }, event, true],
      ["by an expression", { "repository.full_name": "/^ACME/i" }, event, true],
      ["only if all hold", { action: "opened", number: 8 }, event, false],
      ["by a number", { number: 7 }, event, true],
      ["by a number's text", { number: "7" }, event, true],
      ["not by a number for a text", { action: 7 }, { action: "7" }, false],
      ["by a boolean", { draft: false }, event, true],
      ["by a boolean's text", { draft: "false" }, event, true],
      ["by null", { milestone: null }, event, true],
      ["not by the text of null", { milestone: "null" }, event, false],
      ["not by null for a missing field", { missing: null }, event, false],
      ["not by a star for a missing field", { missing: "*" }, event, false],
      ["by one item of a list", { tags: "a" }, event, true],
      ["by the text of an item", { tags: "5" }, event, true],
      ["by an index", { "labels[0].name": "bug" }, event, true],
      ["by any item", { "labels[*].name": "ui" }, event, true],
      ["by any item of any list", { "groups[*].tags": "b" }, { groups: [{ tags: ["a"] }, { tags: ["b"] }] }, true],
      ["not by an object", { repository: "*" }, event, false],
      ["not by a list in a list", { tags: "a" }, { tags: [["a"]] }, false],
      ["by what it is not", { action: { not: "closed" } }, event, true],
      ["not by what it is not", { action: { not: ["opened", "closed"] } }, event, false],
      ["by what a missing field is not", { missing: { not: "x" } }, event, true],
      ["not if one item of a list is excluded", { tags: { not: "a" } }, event, false],
      ["by a field with the name of a path", { "a.b": "exact" }, event, true],
      ["not by the path beside such a field", { "a.b": "path" }, event, false],
      ["not by an inherited field", { constructor: "*" }, event, false],
      ["not by an inherited field of a list", { "tags.map": "*" }, event, false],
      ["not in a payload that is no object", { action: "opened" }, "opened", false],
      ["by a payload that is a text", { payload: "ping" }, "ping", true],
    ])("by payload: %s", (_name, payload, sent, expected) => {
      expect(find([{ payload }], ["any", sent]) !== undefined).toBe(expected);
    });

    test("the first in order, whether or not it names a path", () => {
      const matches = [{ path: "a", source: "s" }, { source: "s" }, { path: "a" }, undefined];
      expect(find(matches, ["a", { source: "s" }])).toBe("m0");
      expect(find(matches, ["a", { source: "t" }])).toBe("m2");
      expect(find(matches, ["b", { source: "s" }])).toBe("m1");
      expect(find(matches, ["b", {}])).toBe("m3");
    });

    test("only for its own credential, or for the tokens", () => {
      const mapping = (id: string, credential?: string) => ({
        ...toCompiled({ id, messageTemplate: "x" }),
        credential,
      });
      const index = createMappingIndex([mapping("own", "auth:own"), mapping("other", "auth:other"), mapping("open")]);
      const found = (credential: string) => index.find(toRequest("any", {}, { credential }))?.source.id;
      expect(found("auth:other")).toBe("other");
      expect(found("auth:unknown")).toBeUndefined();
      expect(found("token:default")).toBe("open");
      expect(found("token:deploys")).toBe("open");
    });

    test("or none, and then says for each that names the path and is visible what failed", () => {
      const mapping = (id: string, match: MatchInput, credential?: string) => ({
        ...toCompiled({ id, match, messageTemplate: "x" }),
        credential,
      });
      const index = createMappingIndex([
        mapping("pushes", { path: "a", source: "s", headers: { "X-Kind": "push" } }),
        mapping("shop", { path: "a", source: "shop" }),
        mapping("any", { where: false }),
        mapping("signed", { path: "a", where: false }, "auth:signed"),
      ]);
      const explain = (...request: Parameters<typeof toRequest>) => index.explain(toRequest(...request));
      expect(explain(...withHeader("push", "a"))).toBe(
        "No mapping matches: pushes (match.source), shop (match.source).",
      );
      expect(explain("a", {})).toContain("pushes (match.headers.X-Kind)");
      expect(explain("a", {}, { credential: "auth:signed" })).toBe("No mapping matches: signed (match.where).");
      expect(explain("a", {}, { credential: "auth:other" })).toBeUndefined();
      expect(explain("b", {})).toBeUndefined();
      const fields = createMappingIndex([mapping("shop", { path: "a", payload: { state: "open", "user.id": 7 } })]);
      expect(fields.explain(toRequest("a", { state: "open" }))).toBe(
        'No mapping matches: shop (match.payload["user.id"]).',
      );
    });

    test("names of Object.prototype are paths like any other", () => {
      expect(find([{ path: "other" }], ["constructor", {}])).toBeUndefined();
      expect(find([{ path: "__proto__" }], ["__proto__", {}])).toBe("m0");
    });
  });

  function withHeader(value: string, hook = "any"): Parameters<typeof toRequest> {
    return [hook, {}, { headers: { "x-kind": value } }];
  }
});

describe("shadow", () => {
  type MatchInput = MappingInput["match"];

  function warnings(...matches: MatchInput[]): { key?: string; message: string }[] {
    return findShadowed(
      matches.map((match, index) => toCompiled({ id: `m${index}`, match, messageTemplate: "x" }, index)),
    );
  }

  test.each<[string, MatchInput, MatchInput]>([
    ["the same path twice", { path: "a" }, { path: "/a/" }],
    ["a catch-all first", undefined, { path: "a", source: "s" }],
    ["a source first that the other needs too", { source: "s" }, { path: "a", source: "s" }],
    ["the same header in other case", { headers: { "X-A": "1" } }, { headers: { "x-a": "1", "x-b": "2" } }],
    ["the same field", { payload: { a: ["1", "2"] } }, { payload: { a: ["1", "2"], b: 1 } }],
    ["the same schema", { where: { required: ["a"] } }, { path: "a", where: { required: ["a"] } }],
  ])("is reported: %s", (_name, first, second) => {
    const [warning, ...more] = warnings(first, second);
    expect(warning).toMatchObject({
      key: "hooks.mappings[1].match",
      message: expect.stringContaining('"m1"'),
    });
    expect(warning?.message).toContain('"m0"');
    expect(more).toEqual([]);
  });

  test.each<[string, MatchInput, MatchInput]>([
    ["another path", { path: "a" }, { path: "b" }],
    ["the narrow one first", { path: "a", source: "s" }, { path: "a" }],
    ["another header", { headers: { "x-a": "1" } }, { headers: { "x-a": "2" } }],
    ["another value of a field", { payload: { a: "1" } }, { payload: { a: "2" } }],
    ["another schema", { where: { required: ["a"] } }, { where: { required: ["b"] } }],
    ["conditions of different kinds", { source: "s" }, { path: "a" }],
  ])("is not reported: %s", (_name, first, second) => {
    expect(warnings(first, second)).toEqual([]);
  });

  test("of a preset's mapping is reported at the operator's own, with a remedy", () => {
    const own = toCompiled({ id: "mine", match: { path: "mail" }, messageTemplate: "x" });
    const source = { ...toSource({ match: { path: "mail" }, messageTemplate: "x" }), file: "/preset.json" };
    const preset = toCompiled({ ...source, id: "mail", key: "mappings[0]", preset: "mail" });
    const [warning] = findShadowed([own, preset]);
    expect(warning).toMatchObject({ file: own.source.file, key: "hooks.mappings[0].match" });
    expect(warning?.message).toContain('Remove "mail" from hooks.presets, or give "mine" a narrower match.');
    expect(findShadowed([preset, preset])[0]?.message).toMatch(/Remove "mail" from hooks.presets\.$/);
  });
});

const mapping: MappingInput = {
  match: { path: "x" },
  messageTemplate: "{{title}}",
  event: "{{kind}}{{#if action}}.{{action}}{{/if}}",
  events: ["issue.*", "push", "*.failed"],
  ignore: [
    { value: "{{sender.type}}", is: "bot", reason: "a bot sent it" },
    { value: "{{ref}}", isNot: ["", "refs/heads/{{main}}", "v*"], reason: "it is another branch" },
    { value: "{{#each labels}}{{name}}\n{{/each}}", is: ["wip", "on-*-hold"], reason: "it has an ignored label" },
  ],
};
const post = (payload: object) =>
  resolve("x", { title: "T", main: "trunk", ref: "refs/heads/trunk", ...payload }, { mappings: [mapping] });

test.each([
  [{ kind: "issue", action: "opened" }, "issue.opened"],
  [{ kind: "PUSH" }, "PUSH"],
  [{ kind: "push", ref: "v1" }, "push"],
  [{ kind: "run", action: "failed", labels: [{ name: "bug" }] }, "run.failed"],
])("%j leads to an action", async (payload, event) => {
  expect(await post(payload)).toMatchObject({ event, actions: [{ message: "T" }], reason: undefined });
});

test.each([
  [{ kind: "star", action: "created" }, "the event star.created is not one of events"],
  [{ kind: "pushed" }, "the event pushed is not one of events"],
  [{}, "the event without a name is not one of events"],
  [{ kind: "push", ref: "refs/heads/x" }, "it is another branch (refs/heads/x)"],
  [{ kind: "push", ref: "" }, "it is another branch"],
  [{ kind: "push", sender: { type: "Bot" } }, "a bot sent it (Bot)"],
  [{ kind: "push", labels: [{ name: "bug" }, { name: "WIP" }] }, "it has an ignored label (WIP)"],
  [{ kind: "push", labels: [{ name: "on-a-long-hold" }] }, "it has an ignored label (on-a-long-hold)"],
])("%j is skipped with the reason", async (payload, reason) => {
  expect(await post(payload)).toMatchObject({ actions: [], reason });
});

test("each item has its own reason, and the first is shown if none is left", async () => {
  const each: MappingInput = {
    ...mapping,
    forEach: "items",
    event: "{{item}}",
    events: ["a"],
    ignore: [],
    messageTemplate: "{{item}}",
  };
  const mappings = [each];
  expect(await resolve("x", { items: ["b", "a"] }, { mappings })).toMatchObject({
    event: "b",
    actions: [{ message: "a" }],
  });
  expect(await resolve("x", { items: ["b", "c"] }, { mappings })).toMatchObject({
    reason: "the event b is not one of events",
  });
  expect(await resolve("x", { items: [] }, { mappings })).toMatchObject({ reason: "items lists nothing" });
});

test("events without event is a mistake", () => {
  expect(() => toCompiled({ ...mapping, event: undefined })).toThrow("events: Set event too");
});
