import { expect, test } from "vitest";
import { DEFAULTS } from "./defaults.ts";
import { isObject } from "./is-object.ts";
import { readSchema } from "./schemas.ts";

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
