import { readFileSync } from "node:fs";
import { findPackageJSON } from "node:module";
import path from "node:path";

const FILE = findPackageJSON(import.meta.url)!;

/** The folder that holds package.json, schemas and presets. */
export const PACKAGE_ROOT = path.dirname(FILE);

/** Whether the service runs from source: then nothing is built, and what it needs is built from source too. */
export const IS_CHECKOUT = import.meta.filename.endsWith(".ts");

/** The package's own version. */
export function packageVersion(): string {
  return JSON.parse(readFileSync(FILE, "utf8")).version;
}
