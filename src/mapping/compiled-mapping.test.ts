import { expect, test } from "vitest";
import { toCompiled } from "../../test/support/mapping.ts";
import type { MappingInput } from "../config/schema/generated.ts";
import { toRunLimits } from "./compiled-mapping.ts";

const limitsOf = (mapping: MappingInput) => toRunLimits([toCompiled({ id: "m", ...mapping })]).get("m");

test("a mapping without limits has none", () => {
  expect(limitsOf({})).toBeUndefined();
});

test("concurrency stands as it is", () => {
  expect(limitsOf({ concurrency: 2 })).toEqual({ concurrency: 2 });
});

test.each([
  [{ max: 5 }, 60_000],
  [{ max: 5, per: "2s" }, 2000],
  [{ max: 5, perMs: 250 }, 250],
  [{ max: 5, per: "2s", perMs: 250 }, 250],
])("the period of %j is %i ms", (rateLimit, perMs) => {
  expect(limitsOf({ rateLimit })).toEqual({ rate: { max: 5, perMs } });
});
