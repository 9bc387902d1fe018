import { describe, expect, test } from "vitest";
import { findFences } from "./fences.ts";

const blocks = (text: string): string[] => findFences(text).map(({ start, end }) => text.slice(start, end));

describe("findFences", () => {
  test("finds blocks with what opens and closes them", () => {
    const text = "before\n```ts\ncode\n```\nafter";
    expect(findFences(text)).toEqual([{ start: 7, bodyStart: 13, end: 21, open: "```ts", close: "```" }]);
  });

  test("ends a block only at a fence of its kind, at least as long", () => {
    expect(blocks("````\n```\n~~~~\n````\nx")).toEqual(["````\n```\n~~~~\n````"]);
    expect(blocks("~~~\n```\n~~~")).toEqual(["~~~\n```\n~~~"]);
    expect(blocks("```\na\n`````\nx")).toEqual(["```\na\n`````"]);
  });

  test("does not end a block at a fence with words behind it", () => {
    expect(blocks("```\n```ts\n```")).toEqual(["```\n```ts\n```"]);
  });

  test("lets an open block run to the end", () => {
    expect(blocks("x\n```\ncode")).toEqual(["```\ncode"]);
  });

  test("takes code within a line for text", () => {
    expect(blocks("```like this``` and\nthat")).toEqual([]);
    expect(blocks("    ```\nindented too far")).toEqual([]);
  });

  test("looks no further than it is asked to, but to the end of a block", () => {
    const text = "```\na\n```\n```\nb\n```";
    expect(findFences(text, 5)).toHaveLength(1);
    expect(findFences(text, 5)[0]?.end).toBe(9);
  });

  test("finds several", () => {
    expect(blocks("```\na\n```\nx\n```\nb\n```")).toEqual(["```\na\n```", "```\nb\n```"]);
  });
});
