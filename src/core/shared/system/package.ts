import { readFileSync } from "node:fs";
import { createRequire, findPackageJSON } from "node:module";
import path from "node:path";

const FILE = findPackageJSON(import.meta.url)!;

/** The folder that holds package.json, schemas and presets. */
export const PACKAGE_ROOT = path.dirname(FILE);

/** Whether the service runs from source: then nothing is built, and what it needs is built from source too. */
export const IS_CHECKOUT = import.meta.filename.endsWith(".ts");

let version: string | undefined;

/** The package's own version. */
export function packageVersion(): string {
  return (version ??= String(JSON.parse(readFileSync(FILE, "utf8")).version));
}

const require = createRequire(import.meta.url);

/** Each is a file of the build there, so that a start does not read it. */
const LIBRARIES = path.join(PACKAGE_ROOT, "dist/libraries");

/**
 * A library that most starts do not need: the function loads it at its first call. For places that cannot wait; others
 * `await import(…)`.
 */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- TypeScript cannot tell it from the name.
export function loadAtFirstUse<Library>(name: string): () => Library {
  let library: Library | undefined;
  return () => (library ??= IS_CHECKOUT ? require(name) : require(path.join(LIBRARIES, `${name}.js`)).library);
}
