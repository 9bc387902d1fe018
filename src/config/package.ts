import { readFileSync } from "node:fs";
import path from "node:path";

/** The folder that holds package.json, schemas and presets: two up from here in a checkout and in the built package. */
export const PACKAGE_ROOT = path.join(import.meta.dirname, "../..");

/** The package's own version. */
export function packageVersion(): string {
  return JSON.parse(readFileSync(path.join(PACKAGE_ROOT, "package.json"), "utf8")).version;
}
