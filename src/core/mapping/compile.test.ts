import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { toCompiled, toSource } from "../../../test/support/mapping.ts";
import type { MappingInput } from "../config/schema/generated.ts";
import type { ConfigProblem } from "../errors.ts";
import { compileMapping, toRunLimits } from "./compile.ts";

const folder = mkdtempSync(path.join(tmpdir(), "hookline-mapping-"));
afterAll(() => rmSync(folder, { recursive: true }));

function compile(mapping: MappingInput): ReturnType<typeof compileMapping> {
  const source = { ...toSource(mapping, 3), baseDir: folder };
  return compileMapping(source, { readFile: (file) => readFileSync(file, "utf8") });
}

function problemsOf(mapping: MappingInput): ConfigProblem[] {
  return compile(mapping).problems;
}

describe("a mapping that cannot be used", () => {
  test.each<[string, MappingInput, string, string]>([
    ["template", { messageTemplate: "{{#if x}}" }, "messageTemplate", "does not parse"],
    ["helper", { name: "{{shout x}}" }, "name", 'Unknown helper "shout"'],
    ["second line", { messageTemplate: "a\n{{shout x}}" }, "messageTemplate", "Line 2 of the template: Unknown"],
    ["dedupe", { dedupe: "{{}}" }, "dedupe", "does not parse"],
    ["coalesce", { coalesce: { key: "{{}}", windowMs: 1 } }, "coalesce.key", "does not parse"],
    ["expression", { match: { headers: { "X-A": "/(/" } } }, "match.headers.X-A", "regular expression is not valid"],
    ["flag g", { match: { headers: { "X-A": "/a/g" } } }, "match.headers.X-A", 'i, m, s and u, not "g"'],
    ["header with a dot", { match: { headers: { "x.a": "/a/y" } } }, 'match.headers["x.a"]', 'not "y"'],
    [
      "where",
      { match: { where: { type: "thing" } } },
      "match.where",
      'schema is not valid: type must be one of "array"',
    ],
    [
      "where",
      { match: { where: { properties: { a: 5 } } } },
      "match.where",
      "schema is not valid: properties.a must be an object or a boolean, not a number",
    ],
    [
      "field in where",
      { match: { where: { action: "opened" } } },
      "match.where.action",
      "use match.payload: { action: … }",
    ],
    [
      "misspelled keyword in where",
      { match: { where: { properties: { a: { enmu: [1] } }, required: ["a"] } } },
      "match.where.properties.a.enmu",
      'Did you mean "enum"?',
    ],
    [
      "keyword of a later draft in where",
      { match: { where: { not: { prefixItems: [{}] } } } },
      "match.where.not.prefixItems",
      "default is draft-07",
    ],
    [
      "misspelled keyword in a schema",
      { schema: { anyOf: [{ requird: ["a"] }] } },
      "schema.anyOf[0].requird",
      '"required"?',
    ],
    ["path of a field", { match: { payload: { "a..b": 1 } } }, 'match.payload["a..b"]', "is not a valid path"],
    ["expression for a field", { match: { payload: { a: { not: "/(/" } } } }, "match.payload.a.not", "is not valid"],
    ["flag for a field", { match: { payload: { a: ["/a/g"] } } }, "match.payload.a", 'not "g"'],
    ["schema", { schema: { type: "thing" } }, "schema", "The schema cannot be used"],
    ["schema file", { schema: "absent.json" }, "schema", "absent.json cannot be used: ENOENT"],
    ["forEach", { forEach: "a..b" }, "forEach", "not a valid path"],
    ["forEach with a star", { forEach: "a.b[*]" }, "forEach", 'write "a.b"'],
    ["forEach with brackets", { forEach: "$.a[]" }, "forEach", 'write "a"'],
    ["forEach as a template", { forEach: "{{ a.b }}" }, "forEach", 'write "a.b"'],
  ])("%s", (_name, mapping, key, message) => {
    const problems = problemsOf({ messageTemplate: "x", ...mapping });
    expect(problems).toEqual([
      expect.objectContaining({ key: `hooks.mappings[3].${key}`, message: expect.stringContaining(message) }),
    ]);
    expect(problems[0]?.file).toBe("/etc/hookline/webhooks.json5");
  });

  test("all problems are reported at once, and there is no mapping", () => {
    const { mapping, problems } = compile({ messageTemplate: "{{", to: "{{shout x}}", forEach: "[" });
    expect(mapping).toBeUndefined();
    expect(problems.map(({ key }) => key?.split(".").at(-1))).toEqual(["forEach", "messageTemplate", "to"]);
  });

  test("a schema file that is not JSON", () => {
    writeFileSync(path.join(folder, "broken.json"), "{");
    expect(problemsOf({ messageTemplate: "x", schema: "broken.json" })[0]?.message).toContain("broken.json");
  });
});

describe("a template that does not suit its field", () => {
  test.each<[string, MappingInput, string, string]>([
    ["item in a text", { messageTemplate: "New: {{item.title}}" }, "messageTemplate", "only with forEach"],
    ["item in a session key", { sessionKey: "x:{{item.id}}" }, "sessionKey", "only with forEach"],
    ["item without forEach in dedupe", { dedupe: "{{source}}/{{item.id}}" }, "dedupe", "only with forEach"],
    ["index below a block in dedupe", { dedupe: "{{#each x}}{{../index}}{{/each}}" }, "dedupe", '"index"'],
    ["item of the root", { dedupe: "{{lower @root.item.id}}" }, "dedupe", "write payload.item if"],
    ["item in coalesce", { coalesce: { key: "{{#if item}}x{{/if}}", windowMs: 1 } }, "coalesce.key", '"item"'],
    ["the first item", { forEach: "a.b", name: "{{a.b[0].id}}" }, "name", '"a.b[0]" is the same'],
    [
      "the first item, as Handlebars writes it",
      { forEach: "a", to: "{{payload.a.0.id}}" },
      "to",
      '"payload.a.0" is the same',
    ],
    ["dedupe without values", { dedupe: "{source}/{id}" }, "dedupe", "the same for every request"],
  ])("is a warning: %s", (_name, mapping, key, message) => {
    const { warnings } = compile({ messageTemplate: "x", ...mapping });
    expect(warnings).toEqual([
      expect.objectContaining({ key: `hooks.mappings[3].${key}`, message: expect.stringContaining(message) }),
    ]);
  });

  test.each<[string, MappingInput]>([
    ["with forEach", { forEach: "items", dedupe: "{{item.id}}/{{index}}", messageTemplate: "{{item}}" }],
    ["the first of a list that holds the item alone", { forEach: "a", forEachNarrows: true, name: "{{a[0].id}}" }],
    ["the first of another list", { forEach: "a", name: "{{item.a[0]}} {{ba[0]}} {{a0}}" }],
    ["a field of the payload", { dedupe: "{{payload.item.id}}/{{data.index}}" }],
    ["a field of an element", { dedupe: "{{#each list}}{{item.id}}{{@index}}{{/each}}" }],
    ["a block's own name", { dedupe: "{{#each list as |item index|}}{{item.id}}{{/each}}" }],
    ["a blank dedupe", { dedupe: " " }],
  ])("is not reported: %s", (_name, mapping) => {
    const { problems, warnings } = compile({ messageTemplate: "x", ...mapping });
    expect([...problems, ...warnings]).toEqual([]);
  });
});

describe("a schema that checks less than it seems to", () => {
  const warningsOf = (mapping: MappingInput) => {
    const { mapping: compiled, warnings } = compile({ messageTemplate: "x", ...mapping });
    expect(compiled).toBeDefined();
    return warnings.map(({ key }) => key?.replace("hooks.mappings[3].", ""));
  };
  const constant = { properties: { action: { const: "opened" } } };

  test.each<[string, MappingInput, string[]]>([
    ["a keyword of somebody's own", { schema: { markdownEnumDescriptions: [] } }, ["schema.markdownEnumDescriptions"]],
    [
      "a keyword of a later draft",
      { schema: { items: { dependentRequired: {} } } },
      ["schema.items.dependentRequired"],
    ],
    ["a constant without required", { match: { where: constant } }, ["match.where.properties.action"]],
    [
      "an enum in a field that is not required",
      { match: { where: { properties: { pr: { required: ["state"], properties: { state: { enum: ["open"] } } } } } } },
      ["match.where.properties.pr"],
    ],
    [
      "a constant in a branch",
      { match: { where: { anyOf: [{ ...constant, required: ["action"] }, { not: constant }] } } },
      ["match.where.anyOf[1].not.properties.action"],
    ],
  ])("is a warning: %s", (_name, mapping, keys) => {
    expect(warningsOf(mapping)).toEqual(keys);
  });

  const draft2020 = "https://json-schema.org/draft/2020-12/schema";
  const annotations = {
    $id: "https://example.com/a",
    $comment: "x",
    title: "x",
    description: "x",
    default: { a: 1 },
    examples: [{ a: 1 }],
    deprecated: true,
    readOnly: true,
    writeOnly: true,
    contentMediaType: "x/y",
    contentEncoding: "base64",
    contentSchema: {},
    $anchor: "a",
    $defs: {},
    definitions: {},
    nullable: true,
    type: "object",
    discriminator: { propertyName: "a" },
    xml: { name: "a" },
    externalDocs: {},
    example: { a: 1 },
    "x-own": { a: 1 },
  };
  test.each<[string, object]>([
    ["annotations of all drafts and OpenAPI", annotations],
    ["values", { const: { a: 1 }, enum: [{ b: 1 }], default: { c: 1 }, examples: [{ d: 1 }] }],
    ["OpenAPI's nullable without a type", { nullable: true, properties: { a: { nullable: true, allOf: [{}] } } }],
    ["names of fields", { properties: { action: {}, enmu: true }, required: ["action"], patternProperties: { a: {} } }],
    ["names of definitions", { definitions: { order: {} }, dependencies: { order: ["id"], id: { required: ["a"] } } }],
    [
      "keywords of the draft that $schema names",
      { $schema: draft2020, prefixItems: [{}], dependentRequired: { a: ["b"] } },
    ],
    ["constants that are required", { ...constant, required: ["action"] }],
    ["constants that are required beside", { required: ["action"], anyOf: [constant, {}] }],
    ["constants that another part of allOf requires", { allOf: [constant, { required: ["action"] }] }],
  ])("is not reported: %s", (_name, schema) => {
    expect(warningsOf({ match: { where: { ...schema } }, schema: { ...schema } })).toEqual([]);
  });

  test("is in a file", () => {
    writeFileSync(path.join(folder, "typo.json"), '{"properties":{"id":{"tpye":"string"}}}');
    expect(problemsOf({ messageTemplate: "x", schema: "typo.json" })).toMatchObject([
      { key: "hooks.mappings[3].schema", message: expect.stringMatching(/^typo.json: properties.id.tpye: .*"type"/) },
    ]);
  });
});

test("a schema file may begin with a byte order mark", () => {
  writeFileSync(path.join(folder, "windows.json"), '\ufeff{"required":["id"]}\r\n');
  expect(problemsOf({ messageTemplate: "x", schema: "windows.json" })).toEqual([]);
});

test("the path of a schema file is relative to the file that names it", () => {
  writeFileSync(path.join(folder, "order.json"), '{"required":["id"]}');
  const { mapping } = compile({ messageTemplate: "x", schema: "order.json" });
  expect(mapping?.check?.({ id: 1 })).toEqual([]);
  expect(mapping?.check?.({})[0]?.message).toBe("id is required");
});

test("a regular expression that cannot run in linear time is a problem at its key", () => {
  const { mapping, problems } = compile({
    messageTemplate: "x",
    match: {
      headers: { "X-A": "/(a+)+$/", "X-B": "/(?=b)/i" },
      payload: { "a.b": { not: ["/x(?!y)/"] } },
      where: { pattern: "(w)\\1" },
    },
    schema: { patternProperties: { "(?<!s)t": false } },
  });
  expect(mapping).toBeUndefined();
  const at = "hooks.mappings[3]";
  expect(problems.map(({ key, message }) => [key, /the expression (\S+) cannot run in/.exec(message)?.[1]])).toEqual([
    [`${at}.match.headers.X-B`, "/(?=b)/i"],
    [`${at}.match.payload["a.b"].not`, "/x(?!y)/"],
    [`${at}.match.where`, "/(w)\\1/u"],
    [`${at}.schema`, "/(?<!s)t/u"],
  ]);
});

describe("a mapping with a transform", () => {
  const readsPayload = (mapping: MappingInput): boolean =>
    toCompiled({ transform: { module: "t.ts" }, ...mapping }).readsPayload;

  test.each<MappingInput>([
    {},
    { id: "a", action: "wake", maxBodyBytes: 1, auth: { scheme: "github", secret: "s" } },
    { name: "CI", dedupe: "{{headers.x-id}}", sessionKey: "hook:{{query.a}}:{{@root.method}}" },
    { textTemplate: "{{#each headers}}{{this}} {{payload}} {{/each}}{{now}}" },
  ])("reads nothing of the payload with %j", (mapping) => {
    expect(readsPayload(mapping)).toBe(false);
  });

  test.each<MappingInput>([
    { dedupe: "{{id}}" },
    { name: "{{json payload}}" },
    { textTemplate: "{{json this}}" },
    { textTemplate: "{{json @root}}" },
    { textTemplate: "{{#each headers}}{{../id}}{{/each}}" },
    { textTemplate: "{{#each headers}}{{lookup .. this}}{{/each}}" },
    { schema: {} },
    { forEach: "a" },
    { mail: "postmark" },
    { event: "x" },
    { ignore: [{ value: "x", is: "x", reason: "x" }] },
    { coalesce: { key: "x", windowMs: 1 } },
    { source: { channel: "slack", to: "{{to}}" } },
  ])("reads the payload with %j", (mapping) => {
    expect(readsPayload(mapping)).toBe(true);
  });

  test("a mapping without one always reads it", () => {
    expect(toCompiled({ messageTemplate: "x" }).readsPayload).toBe(true);
  });
});

describe("run limits", () => {
  const limitsOf = (mapping: MappingInput) => toRunLimits([toCompiled({ id: "m", ...mapping })]).get("m");

  test("a mapping without limits has none", () => {
    expect(limitsOf({})).toBeUndefined();
  });

  test("concurrency without a rate", () => {
    expect(limitsOf({ concurrency: 2 })).toEqual({ concurrency: 2 });
  });

  test.each([
    [{ max: 5 }, 60_000],
    [{ max: 5, per: "2s" }, 2000],
    [{ max: 5, per: "250ms" }, 250],
  ])("the period of %j is %i ms", (rateLimit, perMs) => {
    expect(limitsOf({ rateLimit })).toEqual({ rate: { max: 5, perMs } });
  });
});
