import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import { Document, isMap, isSeq, visit } from "yaml";
import * as fc from "../../../test/support/property.ts";
import { tokenize } from "../../core/config/parse/json5.ts";
import { parseSource } from "../../core/config/parse/source.ts";
import { applyChange, type Change, editConfig } from "./edit-config.ts";

const set = (path: string, value: unknown): Change => ({ kind: "set", path: path.split("."), value });
const remove = (path: string): Change => ({ kind: "remove", path: path.split(".") });

const MAIL = { source: { kind: "imap", folders: ["INBOX", "A b"] } };

describe("a change in JSON5 follows the style of the file", () => {
  test.each([
    [
      "nothing",
      "",
      '{\n  hooks: {\n    mail: {\n      source: {\n        kind: "imap",\n        folders: ["INBOX", "A b"]\n      }\n    }\n  }\n}\n',
    ],
    ["a comment alone", "// mine", "// mine\n{\n  a: 1\n}\n"],
    ["an empty object", "{ }", "{\n  a: 1\n}"],
    ["one line", "{ b: 2 }", "{ b: 2, a: 1 }"],
    ["one line with a trailing comma", "{ b: 2, }", "{ b: 2, a: 1, }"],
    ["lines", "{\n    b: 2\n}\n", "{\n    b: 2,\n    a: 1\n}\n"],
    ["lines with trailing commas", "{\n\tb: 2,\n}\n", "{\n\tb: 2,\n\ta: 1,\n}\n"],
    ["quoted keys", '{\n  "b": 2\n}', '{\n  "b": 2,\n  "a": 1\n}'],
    ["a comment on the last line", "{\n  b: 2 // two\n}", "{\n  b: 2, // two\n  a: 1\n}"],
    ["a comment before the comma", "{\n  b: 2 /* two */,\n}", "{\n  b: 2 /* two */,\n  a: 1,\n}"],
    ["a comment before the brace", "{\n  b: 2,\n  // c: 3,\n}", "{\n  b: 2,\n  a: 1,\n  // c: 3,\n}"],
    ["a comment and nothing else", "{\n  // b: 2\n}", "{\n  // b: 2\n  a: 1\n}"],
    ["a brace on the last line", "{ b: 2,\n  c: 3 }", "{ b: 2,\n  c: 3,\n  a: 1 }"],
    ["Windows line breaks", "{\r\n  b: 2\r\n}\r\n", "{\r\n  b: 2,\r\n  a: 1\r\n}\r\n"],
    ["a byte order mark", "\uFEFF{ b: 2 }", "\uFEFF{ b: 2, a: 1 }"],
  ])("%s", (_what, text, expected) => {
    expect(editConfig("x.json5", text, [text === "" ? set("hooks.mail", MAIL) : set("a", 1)])).toBe(expected);
  });

  test("strings have the quotes of the first one", () => {
    expect(editConfig("x.json5", "{ b: 'x' }", [set("a", `it's "so"\n`)])).toBe(`{ b: 'x', a: 'it\\'s "so"\\n' }`);
  });

  test("JSON stays JSON", () => {
    const edited = editConfig("x.json", "{}", [set("hooks.mail", MAIL)]);
    expect(JSON.parse(edited)).toEqual({ hooks: { mail: MAIL } });
    expect(() => JSON.parse(editConfig("x.json", '{\n  "b": {\n    "c": 1\n  }\n}', [set("a", MAIL)]))).not.toThrow();
  });

  test("a list on one line that becomes too long gets a line for each item, unless it has comments", () => {
    const add: Change = {
      kind: "add",
      path: ["hooks", "presets"],
      value: { use: "stripe", with: { secret: "x".repeat(30) } },
    };
    const stripe = `{ use: "stripe", with: { secret: "${"x".repeat(30)}" } }`;
    const github = '{ use: "github", with: { secret: "${GITHUB}" } }';
    const once = editConfig("x.json5", `{\n  hooks: {\n    presets: ["mail", ${github}],\n  },\n}\n`, [add]);
    expect(once).toContain(`    presets: [\n      "mail",\n      ${github},\n      {\n        use: "stripe",`);
    expect(JSON.stringify(parseSource("x.json5", once).value)).toContain('"stripe"');
    const commented = editConfig("x.json5", `{ hooks: { presets: [/* one */ ${github}] } }`, [add]);
    expect(commented).toContain(`[/* one */ ${github}, ${stripe}]`);
    const short = editConfig("x.json5", '{ hooks: { presets: ["mail"] } }', [{ ...add, value: "github" }]);
    expect(short).toBe('{ hooks: { presets: ["mail", "github"] } }');
  });

  test("a list of objects in YAML gets a line for each item", () => {
    const value = { use: "stripe", with: { secret: "x" } };
    const add: Change = { kind: "add", path: ["hooks", "presets"], value };
    const once = editConfig("x.yaml", "hooks:\n  presets: [ mail, { use: github } ]\n", [add]);
    expect(editConfig("x.yaml", once, [add])).toBe(
      `hooks:\n  presets:\n    - mail\n    - { use: github }\n${"    - use: stripe\n      with:\n        secret: x\n".repeat(2)}`,
    );
    const short = editConfig("x.yaml", "hooks: { presets: [mail] }\n", [{ ...add, value: "github" }]);
    expect(short).toBe("hooks: {presets: [mail, github]}\n");
  });

  test("a long value beside others is written on separate lines", () => {
    const long = { b: "x".repeat(200), c: 1 };
    expect(editConfig("x.json5", "{ a: { z: 1 } }\n", [{ kind: "add", path: ["a", "y"], value: long }])).toBe(
      `{ a: { z: 1, y: [\n  {\n    b: "${long.b}",\n    c: 1\n  }\n] } }\n`,
    );
  });

  test("a value is changed in place, a list gets items anywhere", () => {
    const text = "{\n  a: [ 'x', // one\n  ], /* a */ b: 'old', // b\n}";
    const insert: Change = { kind: "add", path: ["a"], value: "w", first: true };
    expect(editConfig("x.json5", text, [set("b", "new"), { kind: "add", path: ["a"], value: "y" }, insert])).toBe(
      "{\n  a: [ 'w', 'x', 'y', // one\n  ], /* a */ b: 'new', // b\n}",
    );
    const lines = "{\n  a: [\n    1, // one\n  ],\n}";
    expect(editConfig("x.json5", lines, [{ ...insert, value: 0 }])).toBe("{\n  a: [\n    0,\n    1, // one\n  ],\n}");
    expect(editConfig("x.json5", "{ b: 1 }", [{ kind: "add", path: ["a"], value: 1 }])).toBe("{ b: 1, a: [1] }");
  });

  test.each([
    ["{ a: 1, b: 2, c: 3 }", "{ a: 1, c: 3 }"],
    ["{ b: 2 }", "{  }"],
    ["{ a: 1, b: 2 }", "{ a: 1 }"],
    ["{\n  a: 1,\n  b: 2,\n  c: 3,\n}", "{\n  a: 1,\n  c: 3,\n}"],
    ["{\n  a: 1, // one\n  b: 2 // two\n}", "{\n  a: 1 // one\n  // two\n}"],
  ])("%j without b is %j", (text, expected) => {
    expect(editConfig("x.json5", text, [remove("b")])).toBe(expected);
  });
});

describe("a change in YAML follows the style of the file", () => {
  test.each([
    ["nothing", "", "a: 1\n"],
    ["a comment alone", "# mine", "# mine\n\na: 1\n"],
    ["an empty map", "{}\n", "a: 1\n"],
    ["lines", "b: 2 # two\n# end\n", "b: 2 # two\na: 1\n\n# end\n"],
    ["no last line break", "b:\n  c: 2", "b:\n  c: 2\na: 1\n"],
    ["a text block", "b: |\n  x\n\n  y\n", "b: |\n  x\n\n  y\na: 1\n"],
    ["braces", "{ b: 2 } # two\n", "{ b: 2, a: 1 } # two\n"],
    ["braces with a trailing comma", "{ b: 2,\n}\n", "{ b: 2, a: 1 }\n"],
    ["Windows line breaks", "b: 2\r\n# end\r\n", "b: 2\r\na: 1\r\n\r\n# end\r\n"],
    ["a byte order mark", "\uFEFFb: 2\n", "\uFEFFb: 2\na: 1\n"],
    ["a document marker", "---\nb: 2\n...\n", "---\nb: 2\na: 1\n...\n"],
  ])("%s", (_what, text, expected) => {
    expect(editConfig("x.yaml", text, [set("a", 1)])).toBe(expected);
  });

  test.each([
    ["hooks: # none yet\nb: 2\n", "hooks:\n    # none yet\n    a: 1\nb: 2\n"],
    ["hooks: {}\n", "hooks:\n  a: 1\n"],
    ["hooks: null # x\n", "hooks:\n  # x\n  a: 1\n"],
    ["b: 2\n", "b: 2\nhooks:\n  a: 1\n"],
    ["hooks:\n    b: 2\n", "hooks:\n    b: 2\n    a: 1\n"],
  ])("%j below a key", (text, expected) => {
    const indented = text.includes("none yet") ? `x:\n    y: 1\n${text}` : text;
    const all = text.includes("none yet") ? `x:\n    y: 1\n${expected}` : expected;
    expect(editConfig("x.yaml", indented, [set("hooks.a", 1)])).toBe(all);
  });

  test("a value is changed in place, a list gets items anywhere", () => {
    const text = "a:\n- x # one\nb: 'old' # b\nc: [ y ]\nd: |\n  long\ne: 1\n";
    const changes = [
      set("b", "it's"),
      set("d", "s"),
      { kind: "add", path: ["a"], value: "y" } as const,
      { kind: "add", path: ["c"], value: "z", first: true } as const,
    ];
    expect(editConfig("x.yaml", text, changes)).toBe("a:\n- x # one\n- y\nb: 'it''s' # b\nc: [ z, y ]\nd: s\ne: 1\n");
  });

  test.each([
    ["a: 1\nb: 2 # two\nc: 3\n", "a: 1\nc: 3\n"],
    ["a: 1\nb: |\n  x\nc: 3\n", "a: 1\nc: 3\n"],
    ["{ a: 1, b: 2, c: 3 }", "{ a: 1, c: 3 }\n"],
  ])("%j without b is %j", (text, expected) => {
    expect(editConfig("x.yaml", text, [remove("b")])).toBe(expected);
  });

  test("a change that would change something else is refused", () => {
    const text = "base: &base { enabled: true }\nhooks: *base\n";
    expect(() => editConfig("x.yaml", text, [set("hooks.a", 1)])).toThrow(/hooks\.a: This key cannot be changed/);
  });
});

const KEYS = ["a", "b", "hooks", "mail", "a b", "ä"];
const arbitraryValue = fc.letrec<{ value: unknown; object: Record<string, unknown> }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom(
      "x",
      "${NAME}",
      "it's",
      'say "so"',
      "# no",
      "// no",
      "a: b",
      "",
      "true",
      "line\nbreak",
      1,
      -0.5,
      true,
    ),
    fc.array(tie("value"), { maxLength: 3 }),
    tie("object"),
  ),
  object: fc.dictionary(fc.constantFrom(...KEYS), tie("value"), { maxKeys: 4, noNullPrototype: true }),
}));

const arbitraryChange: fc.Arbitrary<Extract<Change, { kind: "set" }>> = fc.record({
  kind: fc.constant("set" as const),
  path: fc.array(fc.constantFrom(...KEYS), { minLength: 1, maxLength: 3 }),
  value: arbitraryValue.value,
});

describe("for any text", () => {
  test("JSON5 gets the wanted value and loses nothing else", () => {
    const arbitraryText = fc.tuple(arbitraryValue.object, fc.array(fc.nat(), { minLength: 40, maxLength: 40 }));
    const property = fc.property(arbitraryText, arbitraryChange, ([value, dice], change) => {
      const text = toRandomJson5(value, createDice(dice));
      const edited = tryToEdit("x.json5", text, change);
      if (edited === undefined) {
        expect(isNew(value, change.path)).toBe(false);
        return;
      }
      expect(parseSource("x.json5", edited).value).toEqual(applyChange(value, change));
      if (isNew(value, change.path)) {
        expect(isWithin(squeeze(text), squeeze(edited))).toBe(true);
        const back = editConfig("x.json5", edited, [{ kind: "remove", path: change.path }]);
        expect(commentsOf(back)).toEqual(commentsOf(text));
      }
    });
    fc.assert(property, { numRuns: 100 });
  });

  test("JSON5 loses no comment when a key is removed", () => {
    const arbitraryText = fc.tuple(arbitraryValue.object, fc.array(fc.nat(), { minLength: 40, maxLength: 40 }));
    const property = fc.property(arbitraryText, fc.constantFrom(...KEYS), ([value, dice], key) => {
      const scalars = Object.fromEntries(Object.keys(value).map((name) => [name, 1]));
      const text = toRandomJson5(scalars, createDice(dice));
      const edited = editConfig("x.json5", text, [remove(key)]);
      expect(commentsOf(edited).length).toBeGreaterThanOrEqual(commentsOf(text).length - 1);
      expect(isWithin(edited, text)).toBe(true);
    });
    fc.assert(property, { numRuns: 100 });
  });

  test("YAML gets the wanted value and loses no comment", () => {
    const property = fc.property(
      arbitraryValue.object,
      arbitraryChange,
      fc.array(fc.nat(), { minLength: 40, maxLength: 40 }),
      fc.constantFrom(2, 4),
      (value, change, dice, indent) => {
        const text = toRandomYaml(value, createDice(dice), indent);
        // The library writes lists that it cannot read again.
        fc.pre(canBeRead(text, value));
        const edited = tryToEdit("x.yaml", text, change);
        if (edited === undefined) {
          expect(isNew(value, change.path)).toBe(false);
          return;
        }
        expect(parseSource("x.yaml", edited).value).toEqual(applyChange(value, change));
        if (isNew(value, change.path)) expect(countComments(edited)).toBe(countComments(text));
      },
    );
    fc.assert(property, { numRuns: 100 });
  });
});

function canBeRead(text: string, value: unknown): boolean {
  try {
    return isDeepStrictEqual(parseSource("x.yaml", text).value, value);
  } catch {
    return false;
  }
}

function tryToEdit(file: string, text: string, change: Change): string | undefined {
  try {
    return editConfig(file, text, [change]);
  } catch (error) {
    expect(error).toMatchObject({ message: expect.stringContaining("Edit it by hand") });
    return undefined;
  }
}

type Dice = (sides: number) => number;

function createDice(numbers: number[]): Dice {
  let thrown = 0;
  return (sides) => (numbers[thrown++ % numbers.length] ?? 0) % sides;
}

/** The value with white space, comments, quotes and commas as they fall. */
function toRandomJson5(value: unknown, dice: Dice): string {
  const gap = (): string => ["", " ", "\n", "\n  ", " /* c */ ", " // d\n", "\r\n\t"][dice(7)] ?? "";
  const quote = (text: string): string =>
    dice(2) === 0
      ? JSON.stringify(text)
      : `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
  const list = (parts: string[]): string =>
    parts.map((part) => gap() + part + gap()).join(",") + (parts.length > 0 && dice(2) === 0 ? `,${gap()}` : gap());
  const write = (part: unknown): string => {
    if (typeof part === "string") return quote(part);
    if (Array.isArray(part)) return `[${list(part.map(write))}]`;
    if (typeof part !== "object" || part === null) return String(part);
    return `{${list(Object.entries(part).map(([key, child]) => `${/^\w+$/.test(key) && dice(2) === 0 ? key : quote(key)}:${gap()}${write(child)}`))}}`;
  };
  return gap() + write(value) + gap();
}

/** The value in block and flow style with comments, as they fall. */
function toRandomYaml(value: unknown, dice: Dice, indent: number): string {
  const document = new Document(value);
  visit(document, {
    Node(_key, node) {
      if (dice(4) === 0) node.comment = " c";
      if (dice(4) === 0) node.commentBefore = " d";
      if ((isMap(node) || isSeq(node)) && dice(3) === 0) node.flow = true;
    },
  });
  return document.toString({ indent, indentSeq: dice(2) === 0 });
}

/** Nothing of the path is there but objects. */
function isNew(value: unknown, [first, ...rest]: readonly unknown[]): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const child = Object.entries(value).find(([key]) => key === first)?.[1];
  return child === undefined || (rest.length > 0 && isNew(child, rest));
}

function countComments(yaml: string): number {
  return yaml.match(/# ?[cd]$/gm)?.length ?? 0;
}

function squeeze(text: string): string {
  return text.replaceAll(/\s/g, "").replaceAll("{}", "");
}

/** Whether all of a text is in another, in its order. */
function isWithin(text: string, other: string): boolean {
  let at = 0;
  for (const character of other) if (character === text[at]) at += 1;
  return at === text.length;
}

function commentsOf(text: string): string[] {
  return tokenize(text, { mode: "json5" })
    .filter(({ type }) => type.endsWith("Comment"))
    .map(({ loc }) => text.slice(loc.start.offset, loc.end.offset));
}
