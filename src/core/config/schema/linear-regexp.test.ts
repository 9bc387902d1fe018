import { expect, test } from "vitest";
import * as fc from "../../../../test/support/property.ts";
import { compileExpression } from "./linear-regexp.ts";

test.each([
  ["^(a+)+$", ""],
  ["^(a|a)*$", "u"],
  ["(.*)*=(.*)*;$", "s"],
  ["^(\\w+\\s?)*$", "i"],
  ["(?:\\p{L}+\\d?)+!", "iu"],
])("/%s/%s ends on a text that takes JavaScript's own engine exponential time", (body, flags) => {
  const expression = compileExpression(body, flags);
  expect(expression.test(`${"a".repeat(100_000)}-`)).toBe(false);
});

test.each([
  ["\\s", "", "\u00a0 \u2028 \ufeff \u3000"],
  ["^\\S$", "", "\u0085"],
  ["^[\\s\\d_-]+$", "u", "\u20091_-"],
  ["^.$", "", "\u2028"],
  ["^.$", "s", "\r"],
  ["^.$", "u", "😀"],
  ["a$", "", "a\n"],
  ["^[^]$", "", "\n"],
  ["[]", "", "a"],
  ["\\cJ\\x41\\u0042\\t\\/\\-", "", "\nAB\t/-"],
  ["^\\u{1F600}\\uD83D\\uDE00$", "u", "😀😀"],
  ["^u{3}[{]x{,5}]$", "", "uuu{x{,5}]"],
  ["^\\u{3}$", "", "uuu"],
  ["(?<year>\\d{4})-(?<month>\\d\\d)", "u", "2026-11"],
  ["^\\p{Script=Greek}\\p{Lu}\\P{L}$", "u", "λÉ1"],
  ["^[\\w-]+$", "i", "ſK"],
  ["^[\\w-]+$", "iu", "ſK"],
  ["^straße$", "iu", "STRAẞE"],
  ["^\\bfoo\\b.\\B", "", "foo  "],
  ["^[\\b\\]\\\\]+$", "", "\b]\\"],
  ["^b$", "m", "a\nb\nc"],
  ["|a(?:)*(|b)+", "", ""],
])("/%s/%s means what it means in JavaScript", (body, flags, text) => {
  expect(compileExpression(body, flags).test(text)).toBe(new RegExp(body, flags).test(text));
});

test.each([
  ["(?=a)", "", "(?= is not"],
  ["(?<!a)b", "", "(?<! is not"],
  ["(?i:a)", "", "(?i is not"],
  ["(a)\\1", "", "\\1"],
  ["(?<n>a)\\k<n>", "u", "\\k"],
  ["a{2,5000}", "", "{2,5000}"],
  ["\\bk", "iu", "\\b"],
  ["[😀]", "", "half of a surrogate pair"],
])("/%s/%s is refused", (body, flags, reason) => {
  expect(() => compileExpression(body, flags)).toThrow(`/${body}/${flags} cannot run in linear time: `);
  expect(() => compileExpression(body, flags)).toThrow(reason);
});

test("an invalid expression throws", () => {
  expect(() => compileExpression("(", "")).toThrow(SyntaxError);
  expect(() => compileExpression("\\-", "u")).toThrow(SyntaxError);
});

const character = fc.constantFrom("a", "b", "k", "K", "-", "_", "1", "\n", "\u00a0", "ſ", "ß", "É", "\u2028", "µ");
const atom = fc.oneof(
  character.map((text) => (text === "-" ? "\\u002d" : text)),
  fc.constantFrom(".", "\\d", "\\D", "\\w", "\\W", "\\s", "\\S", "^", "$", "\\n", "\\x61", "\\u212a"),
  fc
    .tuple(fc.constantFrom("", "^"), fc.array(fc.constantFrom("a-k", "\\d", "\\W", "\\s", "K", "_", "ß-É", "\\-")))
    .map(([not, members]) => `[${not}${members.join("")}]`),
);
const { pattern } = fc.letrec<{ pattern: string; part: string }>((tie) => ({
  pattern: fc.array(tie("part"), { maxLength: 4 }).map((parts) => parts.join("")),
  part: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    atom,
    fc
      .tuple(fc.constantFrom("(", "(?:"), tie("pattern"), fc.constantFrom(")", ")?", ")*", ")+?", "){2}", "){1,3}"))
      .map((parts) => parts.join("")),
    fc.tuple(tie("pattern"), tie("pattern")).map(([one, other]) => `(?:${one}|${other})`),
  ),
}));

test("both engines match the same texts", () => {
  const flags = fc.subarray(["i", "s", "u"]).map((some) => some.join(""));
  const texts = fc.array(fc.string({ unit: character, maxLength: 8 }), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(pattern, flags, texts, (body, some, all) => {
      const native = requireValid(body, some);
      const linear = compileExpression(body, some);
      for (const text of all) expect([text, linear.test(text)]).toEqual([text, native.test(text)]);
    }),
    { numRuns: 100 },
  );
});

function requireValid(body: string, flags: string): RegExp {
  try {
    return new RegExp(body, flags);
  } catch {
    fc.pre(false);
    throw new Error("unreachable");
  }
}
