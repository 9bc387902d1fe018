import { expect, test } from "vitest";
import { isObject } from "../shared/json.ts";
import { DEFAULTS, parseDuration } from "./resolve.ts";
import { readSchema } from "./schema/validator.ts";

/** Every `default` of a schema, in the shape of a value. */
function defaultsOf(schema: unknown): unknown {
  if (!isObject(schema)) return undefined;
  if (schema["default"] !== undefined) return schema["default"];
  if (!isObject(schema["properties"])) return undefined;
  const entries = Object.entries(schema["properties"])
    .map(([key, child]) => [key, defaultsOf(child)] as const)
    .filter(([, value]) => value !== undefined);
  return entries.length > 0 ? Object.fromEntries(entries) : undefined;
}

test("the defaults are those that the schema tells editors", () => {
  expect(DEFAULTS).toEqual(defaultsOf(readSchema("config")));
});

test.each([
  ["500ms", 500],
  ["30s", 30_000],
  ["30m", 1_800_000],
  ["24h", 86_400_000],
  ["7d", 604_800_000],
])("%s", (text, milliseconds) => {
  expect(parseDuration(text)).toBe(milliseconds);
});

test.each(["", "30", "m", "30 m", "-1s", "1.5h", "30w"])("refuses %j", (text) => {
  expect(() => parseDuration(text)).toThrow(RangeError);
});
