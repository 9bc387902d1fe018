import { describe, expect, test } from "vitest";
import { ConfigError, type ConfigProblem } from "../../errors.ts";
import { parseSource } from "./source.ts";

function syntaxProblems(file: string, text: string): ConfigProblem[] {
  try {
    parseSource(file, text);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  throw new Error("it parsed");
}

const JSON5_TEXT = `// a comment
{
  gateway: { port: 0x10 },
  'hooks': {
    mappings: [
      { id: "a", "match": { headers: { "x.y": '1' } } },
      { id: 'b' },
    ],
  },
}`;

const YAML_TEXT = `# a comment
gateway: { port: 16 }
hooks:
  mappings:
    - id: a
      match:
        headers:
          x.y: "1"
    - id: b
`;

const EXPECTED = {
  gateway: { port: 16 },
  hooks: { mappings: [{ id: "a", match: { headers: { "x.y": "1" } } }, { id: "b" }] },
};

describe.each([
  ["w.json5", JSON5_TEXT, { port: [3, 14], match: [6, 18], header: [6, 40], second: [7, 7], id: [7, 9] }],
  ["w.yaml", YAML_TEXT, { port: [2, 12], match: [6, 7], header: [8, 11], second: [9, 7], id: [9, 7] }],
])("%s", (file, text, places) => {
  const source = parseSource(file, text);
  const placeOf = (key: string) => {
    const { line, column } = source.locate(key) ?? {};
    return [line, column];
  };

  test("gives the value", () => {
    expect(source.value).toEqual(EXPECTED);
  });

  test("says where each key stands", () => {
    expect(placeOf("gateway.port")).toEqual(places.port);
    expect(placeOf("hooks.mappings[0].match")).toEqual(places.match);
    expect(placeOf('hooks.mappings[0].match.headers["x.y"]')).toEqual(places.header);
    expect(placeOf("hooks.mappings[1]")).toEqual(places.second);
    expect(placeOf("hooks.mappings[1].id")).toEqual(places.id);
  });

  test("a key that is not written is located at what is around it", () => {
    expect(placeOf("hooks.mappings[1].match.path")).toEqual(places.second);
    expect(placeOf("gateway.auth.token")).toEqual(placeOf("gateway"));
    expect(source.locate("store.path")).toBeDefined();
  });
});

test("JSON is read too", () => {
  expect(parseSource("w.json", '{"a": [1, null, true, -1.5e3]}').value).toEqual({
    a: [1, null, true, -1500],
  });
});

test("JSON5's own numbers", () => {
  expect(parseSource("w.json5", "[-Infinity, +Infinity, NaN]").value).toEqual([-Infinity, Infinity, Number.NaN]);
});

test("YAML anchors and merge keys; what they bring is located at the alias", () => {
  const source = parseSource("w.yaml", "base: &base { a: 1 }\nother:\n  <<: *base\n  b: *base\n");
  expect(source.value).toEqual({ base: { a: 1 }, other: { a: 1, b: { a: 1 } } });
  expect(source.locate("other.b.a")).toEqual({ line: 4, column: 3 });
});

test.each(["w.json5", "w.yaml"])("%s: a duplicate key is reported at its second place", (file) => {
  expect(parseSource(file, '{\n  "a": { "b": 1,\n    "b": 2 } }').duplicates).toEqual([
    { file, line: 3, column: 5, key: "a.b", message: "This is a duplicate key. Remove one." },
  ]);
});

test.each(["w.json5", "w.yaml"])("%s: __proto__ is a key like any other", (file) => {
  expect(Object.keys(parseSource(file, '{"__proto__": {"x": 1}}').value ?? {})).toEqual(["__proto__"]);
});

test.each([
  [
    "w.json5",
    "{\n  a: b\n}",
    { line: 2, column: 6 },
    "unexpected word. Is a comma, a colon or a quote missing before it?",
  ],
  ["w.json5", "{ a: {} {} }", { line: 1, column: 9 }, 'unexpected "{". Is a comma'],
  ["w.json5", "{\n  a: 1,\n", { line: 2, column: 8 }, "unexpected end of file"],
  ["w.json5", "{ a: {\n}", { line: 2, column: 2 }, "unexpected end of file"],
  ["w.json5", "{\n}}", { line: 2, column: 3 }, "an extra closing bracket"],
  ["w.json5", "", { line: 1, column: 1 }, "unexpected end of file"],
  ["w.json", "{'a': @}", { line: 1, column: 7 }, "Unexpected character '@'"],
  ["w.yaml", "a: 1\nb: [1,", { line: 2, column: 7 }, "must be sufficiently indented and end with a ]"],
  ["w.yml", "a: 1\n---\nb: 1", { line: 2, column: 1 }, "multiple documents"],
  ["w.yaml", "a: !secret x", { line: 1, column: 4 }, "Unresolved tag"],
  ["w.yaml", "a: {{b}}", { line: 1, column: 5 }, 'Put quotes around a template: "{{name}}".'],
  ["w.yaml", "a: {{b}} c", { line: 1, column: 10 }, 'Put quotes around a template: "{{name}}".'],
  ["w.yaml", "? [x]\n: 1", { line: 1, column: 3 }, "A list or a map cannot be a key"],
  ["w.yaml", "a: &a [*a]", { line: 1, column: 8 }, "inside its own anchor"],
])("%s: bad syntax in %j is located", (file, text, place, part) => {
  const [problem] = syntaxProblems(file, text);
  expect(problem).toMatchObject({ file, ...place });
  expect(problem?.message).toContain(part);
});

test("aliases that name nothing, or multiply without end", () => {
  const list = (text: string): string => `[${Array(10).fill(text).join(",")}]`;
  const names = Array.from("abcdefghij");
  const bomb = names.map((name, at) => `${name}: &${name} ${list(at === 0 ? "1" : `*${names[at - 1]}`)}`);
  expect(syntaxProblems("w.yaml", bomb.join("\n"))[0]?.message).toContain("Excessive alias count");
  expect(syntaxProblems("w.yaml", "a: *none")[0]?.message).toContain("Unresolved alias");
});

test.each(["w.json5", "w.yaml"])("%s: a text nested beyond the stack is a problem, not a crash", (file) => {
  expect(syntaxProblems(file, "[".repeat(50_000) + "]".repeat(50_000))).not.toEqual([]);
});

test("a syntax problem never repeats the line it stands on", () => {
  for (const [file, text] of [
    ["w.json5", '{ token: "s3cret" x }'],
    ["w.json5", "{ token: s3cret }"],
    ["w.yaml", 'token: "s3cret'],
    ["w.yaml", "token: s3cret: x"],
  ] as const) {
    expect(new ConfigError(syntaxProblems(file, text)).message).not.toContain("s3cret");
  }
});

test("YAML takes the end of a text for a comment: a template there is a warning, an own comment is not", () => {
  const text =
    'a: PR #{{number}}\nb: #${NAME}\nc: x # see {{number}}\nd: "PR #{{number}}"\nlist:\n  - PR #{{number}}\n';
  const { value, warnings } = parseSource("w.yaml", text);
  expect(value).toEqual({ a: "PR", b: null, c: "x", d: "PR #{{number}}", list: ["PR"] });
  expect(warnings.map(({ key, line }) => [key, line])).toEqual([
    ["a", 1],
    ["b", 2],
    ["list[0]", 6],
  ]);
  expect(warnings[0]?.message).toContain("Put quotes around the text.");
});
