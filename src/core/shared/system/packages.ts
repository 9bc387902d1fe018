import path from "node:path";
import { isInstalled, parentsOf, statIfAny } from "./files.ts";

/** Files that npm, pnpm and Yarn write into a `node_modules` once an installation is complete. */
const RECORDS = [".package-lock.json", ".modules.yaml", ".yarn-integrity"];

const IN_PACKAGE = /^(.*[/\\]node_modules[/\\](?:@[^/\\]+[/\\])?[^/\\]+)[/\\]/s;

/** Where the `package.json` of a package that this file imports would be, the nearest first. */
export function listManifests(name: string, importer: string): string[] {
  return parentsOf(importer)
    .filter((folder) => path.basename(folder) !== "node_modules")
    .map((folder) => path.join(folder, "node_modules", name, "package.json"));
}

/** The `package.json` of the packages that these files are in, absolute. */
export function findManifests(files: Iterable<string>): string[] {
  const found = Array.from(files, (file) => IN_PACKAGE.exec(file)?.[1]);
  return [...new Set(found)].flatMap((folder) => (folder === undefined ? [] : path.join(folder, "package.json")));
}

/**
 * These files once each, and beside manifests of packages what shows that an installation is complete: another file may be
 * there later than they are.
 */
export function withRecords(files: readonly string[]): string[] {
  const unique = new Set(files);
  const folders = new Set([...unique].filter(isInstalled).map(toModulesFolder));
  const existing = [...folders].filter((folder) => statIfAny(folder) !== undefined);
  return [...unique.union(new Set(existing.flatMap((folder) => RECORDS.map((name) => path.join(folder, name)))))];
}

function toModulesFolder(file: string): string {
  return file.slice(0, file.lastIndexOf(`${path.sep}node_modules${path.sep}`) + "/node_modules".length);
}
