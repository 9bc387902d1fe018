import { describe, expect, test } from "vitest";
import * as fc from "../../../../test/support/property.ts";
import { findFences, splitText } from "./split-text.ts";

const bytes = (text: string): number => Buffer.byteLength(text);

describe("splitText", () => {
  test("does not change a text that fits", () => {
    expect(splitText("  short\n", { limit: 100 })).toEqual(["  short\n"]);
  });

  test("has no blank parts", () => {
    expect(splitText(" \n ", { limit: 100 })).toEqual([]);
    expect(splitText(`a${"\n".repeat(500)}b`, { limit: 10 })).toEqual(["a", "b"]);
  });

  test.each([
    ["a paragraph", "First one. Two.\n\nSecond one", ["First one. Two.", "Second one"]],
    ["a line", "First line. Two\nSecond line", ["First line. Two", "Second line"]],
    ["a sentence", "This is one. And here two", ["This is one.", "And here two"]],
    [
      "a sentence without spaces",
      "一二三四五六七八九十一。二三四五六七八九十",
      ["一二三四五六七八九十一。", "二三四五六七八九十"],
    ],
    ["a word", "one two three four five six", ["one two three four", "five six"]],
    ["a character", "abcdefghijklmnopqrstuvwxyz", ["abcdefghijklmnopqrst", "uvwxyz"]],
  ])("breaks at %s", (_where, text, parts) => {
    expect(splitText(text, { limit: 20 })).toEqual(parts);
  });

  test("fills a part completely if a word ends there", () => {
    expect(splitText("twelve chars and more", { limit: 12 })).toEqual(["twelve chars", "and more"]);
  });

  test("keeps a long word whole", () => {
    const url = `https://x.test/${"a".repeat(80)}`;
    expect(splitText(`See:\n\n${url}`, { limit: 100 })).toEqual(["See:", url]);
  });

  test("keeps the indentation of the next line", () => {
    expect(splitText("- item one is long\n  - below it", { limit: 20 })).toEqual([
      "- item one is long",
      "  - below it",
    ]);
  });

  test.each([
    ["a surrogate pair", "😀".repeat(30)],
    ["an emoji of several", "👩‍👩‍👧‍👦".repeat(10)],
    ["a letter with its mark", "e\u0301".repeat(40)],
    ["a flag", "🇩🇪".repeat(20)],
  ])("does not cut %s", (_what, text) => {
    const whole = new Set(Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment));
    const parts = splitText(text, { limit: 25 });
    for (const { segment } of parts.flatMap((part) => [...new Intl.Segmenter().segment(part)])) {
      expect(whole).toContain(segment);
    }
    expect(parts.join("")).toBe(text);
  });

  test("cuts a character that is too long between its code points", () => {
    const text = "👩‍👩‍👧‍👦👩‍👩‍👧‍👦";
    const parts = splitText(text, { limit: 5 });
    expect(parts.join("")).toBe(text);
    expect(parts.every((part) => part.isWellFormed())).toBe(true);
  });

  test("uses the measure of the service", () => {
    const parts = splitText("ééé ééé ééé", { limit: 7, measure: bytes });
    expect(parts).toEqual(["ééé", "ééé", "ééé"]);
  });

  test("makes progress if not even one character fits", () => {
    expect(splitText("😀😀", { limit: 1, measure: bytes })).toEqual(["😀", "😀"]);
  });
});

describe("splitText with fenced code", () => {
  const code = (lines: number): string => Array.from({ length: lines }, (_, line) => `  line ${line};`).join("\n");

  test("keeps a block whole that fits into a part", () => {
    const block = `\`\`\`ts\n${code(5)}\n\`\`\``;
    expect(splitText(`Some words before.\n${block}\nAnd after.`, { limit: 65 })).toEqual([
      "Some words before.",
      block,
      "And after.",
    ]);
  });

  test("does not cut at a blank line in a block", () => {
    const block = "```\none\n\ntwo\n```";
    expect(splitText(`${"word ".repeat(8)}\n${block}`, { limit: 45 })).toEqual(["word ".repeat(8).trim(), block]);
  });

  test("closes a longer block at a line and opens it again", () => {
    const parts = splitText(`\`\`\`ts\n${code(20)}\n\`\`\``, { limit: 80 });
    expect(parts.length).toBeGreaterThan(2);
    for (const part of parts) expect(part).toMatch(/^```ts\n[^]*\n```$/);
    const bodies = parts.map((part) => part.slice("```ts\n".length, -"\n```".length));
    expect(bodies.join("\n")).toBe(code(20));
  });

  test("closes a block within a line that is too long for a part", () => {
    const parts = splitText(`\`\`\`\n${"x".repeat(100)}\n\`\`\``, { limit: 40 });
    for (const part of parts) expect(part).toMatch(/^```\nx+\n```$/);
    expect(parts.join("").replaceAll(/[^x]/g, "")).toHaveLength(100);
  });

  test("cuts such a line after a word and keeps the spaces", () => {
    const line = "one  two three four five six seven";
    const parts = splitText(`\`\`\`\n${line}\n\`\`\``, { limit: 25 });
    expect(parts.map((part) => part.slice("```\n".length, -"\n```".length)).join("")).toBe(line);
    expect(parts[0]).toBe("```\none  two three \n```");
  });

  test("splits a block whose own lines leave no room for text", () => {
    const parts = splitText("```typescript\nabc\ndef\n```", { limit: 10 });
    expect(parts.every((part) => part.length <= 10)).toBe(true);
  });
});

describe("splitText with a table", () => {
  const head = "| a | b |\n|---|:-:|";

  const rows = ["1", "3", "5", "7"].map((cell) => `| ${cell.repeat(14)} | 2 |`);
  const table = [head, ...rows].join("\n");

  test("keeps one whole that fits into a part", () => {
    const text = "text ".repeat(8).trim();
    expect(splitText(`${text}\n${table}`, { limit: table.length })).toEqual([text, table]);
  });

  test("begins each part of a longer one with its header", () => {
    expect(splitText(`${table}\n\ntext`, { limit: 70 })).toEqual([
      [head, rows[0], rows[1]].join("\n"),
      [head, rows[2], rows[3]].join("\n"),
      "text",
    ]);
  });
});

describe("splitText with any text", () => {
  const measures = fc.constantFrom(undefined, bytes, (text: string) => text.replaceAll("&", "&amp;").length);
  const spaced = fc.array(
    fc.oneof(fc.string({ unit: "grapheme" }), fc.constantFrom(" ", "\n", "\n\n", "&", "```\n", "~~~x\n")),
  );
  const options = fc.record({ limit: fc.integer({ min: 12, max: 60 }), measure: measures });

  test("each part fits and is not blank", () => {
    fc.assert(
      fc.property(spaced, options, (pieces, { limit, measure = (text: string) => text.length }) => {
        for (const part of splitText(pieces.join(""), { limit, measure })) {
          expect(measure(part)).toBeLessThanOrEqual(limit);
          expect(part.trim()).not.toBe("");
        }
      }),
      { numRuns: 200 },
    );
  });

  test("without fences, only white space is lost", () => {
    const text = spaced.map((pieces) => pieces.join("").replaceAll(/`|~/g, ""));
    fc.assert(
      fc.property(text, options, (whole, { limit, measure }) => {
        const parts = splitText(whole, { limit, measure });
        expect(inked(parts.join(""))).toBe(inked(whole));
      }),
      { numRuns: 200 },
    );
  });

  test("with fences, all words are kept whole and in order", () => {
    const words = fc.array(fc.tuple(fc.stringMatching(/^[a-z]{1,8}$/), fc.constantFrom(" ", "\n", "\n\n")), {
      maxLength: 40,
    });
    const prose = words.map((pairs) => pairs.flat().join(""));
    const block = words.map((pairs) => `\n\`\`\`\n${pairs.flat().join("").trimEnd()}\n\`\`\`\n`);
    fc.assert(
      fc.property(fc.array(fc.oneof(prose, block)), fc.integer({ min: 24, max: 200 }), (pieces, limit) => {
        const whole = pieces.join("");
        const parts = splitText(whole, { limit });
        expect(parts.flatMap(wordsOf)).toEqual(wordsOf(whole));
        for (const part of parts) expect(part.split(/^```$/m).length % 2).toBe(1);
      }),
      { numRuns: 200 },
    );
  });

  test("splits a large text in linear time", () => {
    const startedAt = performance.now();
    splitText("word ".repeat(50_000), { limit: 2000, measure: bytes });
    splitText(`\`\`\`\n${"some code\n".repeat(25_000)}`, { limit: 2000 });
    // Linear time is about 100 ms.
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });
});

function inked(text: string): string {
  return text.replaceAll(/\s/g, "");
}

function wordsOf(text: string): string[] {
  return text.match(/[a-z]+/g) ?? [];
}

const blocks = (text: string): string[] => findFences(text).map(({ start, end }) => text.slice(start, end));

describe("findFences", () => {
  test("finds blocks with their opening and closing lines", () => {
    const text = "before\n```ts\ncode\n```\nafter";
    expect(findFences(text)).toEqual([{ start: 7, bodyStart: 13, end: 21, open: "```ts", close: "```" }]);
  });

  test("a block ends at a fence of its kind that is at least as long", () => {
    expect(blocks("````\n```\n~~~~\n````\nx")).toEqual(["````\n```\n~~~~\n````"]);
    expect(blocks("~~~\n```\n~~~")).toEqual(["~~~\n```\n~~~"]);
    expect(blocks("```\na\n`````\nx")).toEqual(["```\na\n`````"]);
  });

  test("a block does not end at a fence with text after it", () => {
    expect(blocks("```\n```ts\n```")).toEqual(["```\n```ts\n```"]);
  });

  test("an open block ends with the text", () => {
    expect(blocks("x\n```\ncode")).toEqual(["```\ncode"]);
  });

  test("ignores code within a line", () => {
    expect(blocks("```like this``` and\nthat")).toEqual([]);
    expect(blocks("    ```\nindented too far")).toEqual([]);
  });

  test("stops at `until`, but completes a block", () => {
    const text = "```\na\n```\n```\nb\n```";
    expect(findFences(text, 5)).toHaveLength(1);
    expect(findFences(text, 5)[0]?.end).toBe(9);
  });

  test("finds several blocks", () => {
    expect(blocks("```\na\n```\nx\n```\nb\n```")).toEqual(["```\na\n```", "```\nb\n```"]);
  });
});
