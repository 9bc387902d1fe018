import { readFileSync } from "node:fs";
import path from "node:path";
import { PACKAGE_ROOT } from "./package.ts";

type SchemaName = "config" | "mapping" | "preset" | "wake" | "agent" | "action";

/** One of the package's own JSON Schemas. */
export function readSchema(name: SchemaName): Record<string, unknown> {
  return JSON.parse(readFileSync(path.join(PACKAGE_ROOT, "schemas", `${name}.json`), "utf8"));
}
