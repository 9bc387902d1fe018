import { expect, test } from "vitest";
import { createLines } from "./lines.ts";

test("callers for one key enter in their order, those for another do not wait", async () => {
  const lines = createLines();
  const entered: string[] = [];
  const enter = (name: string, key: string): Promise<() => void> =>
    lines.enter(key).then((leave) => {
      entered.push(name);
      return leave;
    });
  const [first, second, third, other] = [enter("1", "a"), enter("2", "a"), enter("3", "a"), enter("b", "b")];
  await other;
  expect(entered).toEqual(["1", "b"]);
  expect(lines.tryEnter("a")).toBeUndefined();
  (await first)();
  expect(lines.tryEnter("a")).toBeUndefined();
  (await second)();
  (await third)();
  expect(entered).toEqual(["1", "b", "2", "3"]);
  expect(lines.tryEnter("a")).toBeDefined();
});
