import { describe, expect, test } from "vitest";
import { audit, type Effect } from "./audit.ts";

describe("the audit finds", () => {
  test.each<[string, Effect[], object]>([
    ["no difference if each arrives once, in order", of(1, 2, 3), {}],
    ["a missing effect", of(1, 3), { lost: 1 }],
    ["missing effects at the end", of(1), { lost: 2 }],
    ["a duplicate", of(1, 2, 2, 3), { duplicated: 1 }],
    ["a late duplicate", of(1, 2, 3, 1), { duplicated: 1 }],
    ["a wrong order", of(1, 3, 2), { outOfOrder: 1 }],
    ["a message repeated after a kill", acrossProcesses([1, 2], [2, 3]), { again: 1 }],
    ["a message repeated after two kills", acrossProcesses([1, 2], [2], [2, 3]), { again: 2 }],
    [
      "that a stop repeats nothing",
      [
        { number: 1, processNumber: 0, isStopped: true },
        { number: 1, processNumber: 1 },
      ],
      { duplicated: 1, lost: 2 },
    ],
    ["that only the last effect before a kill may be repeated", acrossProcesses([1, 2], [1, 3]), { duplicated: 1 }],
    ["a message repeated during a fault of one of several nodes", during("cut", 1, 2, 2, 3), { again: 1 }],
    ["that a fault repeats only what was in progress", during("cut", 1, 2, 1, 3), { duplicated: 1 }],
    ["a message that a paused node repeats late", during("pause", 1, 2, 1, 3), { again: 1 }],
    ["that no effect may be repeated in one process", acrossProcesses([1, 2], [2, 2, 3]), { again: 1, duplicated: 1 }],
  ])("%s", (_, effects, expected) => {
    expect(audit(effects, 3)).toEqual({ lost: 0, duplicated: 0, outOfOrder: 0, again: 0, ...expected });
  });
});

function of(...numbers: number[]): Effect[] {
  return numbers.map((number) => ({ number }));
}

function during(fault: string, ...numbers: number[]): Effect[] {
  return numbers.map((number) => ({ number, processNumber: 1, fault }));
}

function acrossProcesses(...numbers: number[][]): Effect[] {
  return numbers.flatMap((ofProcess, processNumber) => ofProcess.map((number) => ({ number, processNumber })));
}
