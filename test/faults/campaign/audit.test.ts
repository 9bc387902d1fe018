import { describe, expect, test } from "vitest";
import { audit, type Effect } from "./audit.ts";

describe("the audit finds", () => {
  test.each<[string, Effect[], object]>([
    ["nothing where each came once, in order", of(1, 2, 3), {}],
    ["what never came", of(1, 3), { lost: 1 }],
    ["what never came at the end", of(1), { lost: 2 }],
    ["what came twice", of(1, 2, 2, 3), { duplicated: 1 }],
    ["what came again later", of(1, 2, 3, 1), { duplicated: 1 }],
    ["what came too late", of(1, 3, 2), { outOfOrder: 1 }],
    ["a message that comes again after a kill", lives([1, 2], [2, 3]), { again: 1 }],
    ["a message that comes again after two kills", lives([1, 2], [2], [2, 3]), { again: 2 }],
    ["that one before the last must not", lives([1, 2], [1, 3]), { duplicated: 1 }],
    ["that none may twice in one life", lives([1, 2], [2, 2, 3]), { again: 1, duplicated: 1 }],
  ])("%s", (_, effects, expected) => {
    expect(audit(effects, 3)).toEqual({ lost: 0, duplicated: 0, outOfOrder: 0, again: 0, ...expected });
  });
});

function of(...numbers: number[]): Effect[] {
  return numbers.map((number) => ({ number }));
}

function lives(...numbers: number[][]): Effect[] {
  return numbers.flatMap((ofLife, life) => ofLife.map((number) => ({ number, life })));
}
