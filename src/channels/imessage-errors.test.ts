import { expect, test } from "vitest";
import { toDriverError } from "./imessage-errors.ts";

test.each([
  [-32_000, "passing"],
  [-32_001, "lasting"],
  [-32_002, "passing"],
  [-32_003, "lasting"],
  [-32_004, "passing"],
  [-32_600, "lasting"],
  [-32_601, "lasting"],
  [-32_602, "lasting"],
  [-32_603, "passing"],
])("code %i is %s", (code, kind) => {
  expect(toDriverError({ code, message: "It did not work." }).kind).toBe(kind);
});

test("what may have been sent is not sent again", () => {
  expect(toDriverError({ code: -32_001 }).message).toContain("It may have been sent");
});

test("an answer that is none is passing", () => {
  for (const error of [undefined, null, "no", { code: "x" }])
    expect(toDriverError(error).kind).toBe("passing");
});
