import { readFileSync } from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { afterEach, expect, test } from "vitest";
import { FACTS, listFacts } from "../../../../.ci/facts.ts";
import { PACKAGE } from "../../../../test/support/program.ts";
import { toSource } from "../../../../test/support/mapping.ts";
import { compileMapping } from "../../mapping/compile.ts";
import { compileTemplate } from "../../mapping/template/template.ts";
import { compiledChecks } from "./compiled-checks.ts";
import type { MappingInput } from "./generated.ts";

const { findFacts } = compiledChecks;
afterEach(() => void Object.assign(compiledChecks, { findFacts }));

test("the build knows the texts of a preset, as they are", async () => {
  const built = JSON.parse(readFileSync(path.join(PACKAGE, "dist/checks", FACTS), "utf8"));
  const facts = await listFacts(["github", "sns"]);
  expect(Object.keys(built).length).toBeGreaterThan(500);
  expect(Object.entries(facts).filter(([name, found]) => !isDeepStrictEqual(built[name], found))).toEqual([]);
});

test.each<[string, MappingInput]>([
  ["template", { messageTemplate: "{{#if known}}" }],
  ["where", { match: { where: { type: "known" } } }],
  ["schema", { schema: { type: "known" } }],
  ["expression", { match: { payload: { a: "/(?=known)/" } } }],
])("a %s that the build knows is not compiled at a start, any other is", (_kind, mapping) => {
  const listProblems = () =>
    compileMapping(toSource({ messageTemplate: "x", ...mapping }), { readFile: () => "" }).problems;
  expect(listProblems()).toHaveLength(1);
  compiledChecks.findFacts = () => ({ isStatic: false, fields: [] });
  expect(listProblems()).toEqual([]);
});

test("a template that the build knows reads what the build says, and is parsed once it is rendered", () => {
  compiledChecks.findFacts = () => ({ isStatic: false, fields: ["id"] });
  const [template, broken] = ["{{id}}: known", "{{id}}: {{/known}}"].map((text) => compileTemplate(text));
  expect([template?.fields, template?.render({ id: 7 })]).toEqual([new Set(["id"]), "7: known"]);
  expect(() => broken?.render({ id: 7 })).toThrow("does not parse");
});
