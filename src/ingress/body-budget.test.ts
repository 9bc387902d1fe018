import { expect, test } from "vitest";
import { createBodyBudget, type Upload } from "./body-budget.ts";

const KILOBYTE = 1000;

function start(maxBytes: number) {
  const budget = createBodyBudget(maxBytes);
  const refused: string[] = [];
  const open = (name: string): Upload => {
    const upload = budget.open();
    upload.refuse = () => refused.push(name);
    return upload;
  };
  return { open, refused };
}

test("the oldest incomplete upload makes room for a new one", () => {
  const { open, refused } = start(10 * KILOBYTE);
  const [first, second, third] = [open("first"), open("second"), open("third")];
  first.add(4 * KILOBYTE);
  second.add(4 * KILOBYTE);
  third.add(KILOBYTE);
  expect(refused).toEqual([]);
  third.add(4 * KILOBYTE);
  expect(refused).toEqual(["first"]);
});

test("a complete body is not refused, but counts until it is released", () => {
  const { open, refused } = start(10 * KILOBYTE);
  const [first, second] = [open("first"), open("second")];
  first.add(8 * KILOBYTE);
  first.refuse = undefined;
  second.add(4 * KILOBYTE);
  expect(refused).toEqual(["second"]);
  first.release();
  const third = open("third");
  third.add(8 * KILOBYTE);
  first.add(8 * KILOBYTE);
  expect(refused).toEqual(["second"]);
});

test("a body alone may be larger than the budget: it has its own limit", () => {
  const { open, refused } = start(KILOBYTE);
  open("only").add(5 * KILOBYTE);
  expect(refused).toEqual([]);
});

test("a body in tiny pieces counts more than its bytes", () => {
  const { open, refused } = start(10 * KILOBYTE);
  const [tiny, other] = [open("tiny"), open("other")];
  for (let piece = 0; piece < 45; piece++) tiny.add(1);
  other.add(KILOBYTE);
  expect(refused).toEqual(["tiny"]);
});
