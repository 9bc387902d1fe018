import { expect, test } from "vitest";
import { toCompiled, toSource } from "../../test/support/mapping.ts";
import type { MappingInput } from "../config/generated.ts";
import { findShadowed } from "./shadow.ts";

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
  ["the same schema", { where: { required: ["a"] } }, { path: "a", where: { required: ["a"] } }],
])("is told: %s", (_name, first, second) => {
  const [warning, ...more] = warnings(first, second);
  expect(warning).toMatchObject({ key: "hooks.mappings[1].match", message: expect.stringContaining('"m1"') });
  expect(warning?.message).toContain('"m0"');
  expect(more).toEqual([]);
});

test.each<[string, MatchInput, MatchInput]>([
  ["another path", { path: "a" }, { path: "b" }],
  ["the narrow one first", { path: "a", source: "s" }, { path: "a" }],
  ["another header", { headers: { "x-a": "1" } }, { headers: { "x-a": "2" } }],
  ["another schema", { where: { required: ["a"] } }, { where: { required: ["b"] } }],
  ["conditions of different kinds", { source: "s" }, { path: "a" }],
])("is not told: %s", (_name, first, second) => {
  expect(warnings(first, second)).toEqual([]);
});

test("of a preset's mapping, the operator's own is told, and what can be done", () => {
  const own = toCompiled({ id: "mine", match: { path: "mail" }, messageTemplate: "x" });
  const source = { ...toSource({ match: { path: "mail" }, messageTemplate: "x" }), file: "/preset.json" };
  const preset = toCompiled({ ...source, id: "mail", key: "mappings[0]", preset: "mail" });
  const [warning] = findShadowed([own, preset]);
  expect(warning).toMatchObject({ file: own.source.file, key: "hooks.mappings[0].match" });
  expect(warning?.message).toContain('Take "mail" out of hooks.presets, or give "mine" a narrower match.');
  expect(findShadowed([preset, preset])[0]?.message).toMatch(/Take "mail" out of hooks.presets\.$/);
});
