import { expect, test } from "vitest";
import type { Transform, TransformResult } from "./transform-types.ts";

test("the compiler finds a misspelled field of an annotated result", () => {
  const misspelled: Transform = (): TransformResult => ({
    // @ts-expect-error: `mesage` is not a field of an action.
    mesage: "Hello",
  });
  const right: Transform = async (): Promise<TransformResult> => [{ message: "Hello" }, null];
  expect([misspelled, right]).toHaveLength(2);
});
