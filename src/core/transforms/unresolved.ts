import { isBuiltin } from "node:module";
import path from "node:path";
import { isInstalled, orElse, parentsOf, readRegularFile, statIfAny } from "../shared/system/files.ts";
import { listManifests } from "../shared/system/packages.ts";
import { adviseInstall, toPackageName } from "../shared/text/command.ts";
import { refuseBuiltIn, refuseBuiltIns, withoutPrefix } from "./built-ins.ts";
import type { BuildError, Metafile } from "./esbuild.ts";
import { EXTENSIONS, MAX_SOURCE_BYTES, toOwner } from "./source-boundary.ts";

const MISSING = /^Could not resolve "(.+)"$/s;

/** The name in an import that cannot be resolved. */
export function unresolvedOf({ text }: Pick<BuildError, "text">): string | undefined {
  return MISSING.exec(text)?.[1];
}

/** The file that an import names and that does not exist: it may be created later. */
export function findMissing(error: BuildError, root: string): string | undefined {
  const specifier = unresolvedOf(error);
  if (!error.location || !specifier?.startsWith(".")) return undefined;
  return path.resolve(root, path.dirname(error.location.file), specifier);
}

/** Where the package that an import names would be, if it is not there. */
export function listMissingManifests(error: BuildError, root: string): string[] {
  const name = toPackageName(withoutPrefix(unresolvedOf(error) ?? ""));
  if (name === undefined || !error.location) return [];
  return listManifests(name, path.resolve(root, error.location.file));
}

/** A build that failed, as far as it is known. */
export interface FailedBuild {
  root: string;
  /** Which file imports which; undefined if it could not be found. */
  inputs: Metafile["inputs"] | undefined;
  /** The names of its entries in `inputs`. */
  entries: string[];
  /** The texts of the files that were read. */
  texts: ReadonlyMap<string, string>;
}

/**
 * Says what esbuild's errors mean to the author: those inside of packages become one for each package that the author imports,
 * at the line of the import.
 */
export function explainErrors(errors: BuildError[], build: FailedBuild): BuildError[] {
  const needs = new Map<string, Need[]>();
  const own: BuildError[] = [];
  for (const error of errors) {
    const need = toNeed(error, build);
    if (need) needs.set(need.key, [...(needs.get(need.key) ?? []), need]);
    else own.push(explainOwn(error, build));
  }
  // esbuild builds files side by side, so their order is another one each time.
  const ofPackages = [...needs.values()].flatMap(explainNeeds);
  return [...own, ...ofPackages.toSorted((one, other) => one.text.localeCompare(other.text))];
}

function explainOwn(error: BuildError, { root }: FailedBuild): BuildError {
  const specifier = unresolvedOf(error);
  const folder = path.resolve(root, path.dirname(error.location?.file ?? ""));
  return { text: specifier === undefined ? error.text : explainMissing(specifier, folder), location: error.location };
}

function explainMissing(specifier: string, folder: string): string {
  if (specifier.startsWith(".")) return `The file "${specifier}" does not exist.`;
  // Only here, because a package may bring or exclude a module of such a name.
  if (isBuiltin(specifier)) return refuseBuiltIn(specifier);
  if (specifier.startsWith("#") && !specifier.startsWith("#/")) {
    return `"${specifier}" is not among the "imports" of the package.json. Import a file by its path.`;
  }
  if (/^[@~#]?\/|^~/.test(specifier) || isAlias(specifier, folder)) {
    return `"${specifier}" is no file: the paths of a tsconfig.json are not used. Import a file by its path.`;
  }
  if (looksRelative(specifier, folder)) {
    return `"${specifier}" is no installed package. If it is a file, write "./${specifier}".`;
  }
  return explainPackage(specifier, folder);
}

function explainPackage(specifier: string, folder: string): string {
  const name = toPackageName(specifier);
  if (name === undefined) return `"${specifier}" is neither a file nor the name of a package.`;
  const isThere = [folder, ...parentsOf(folder)].some((each) => statIfAny(path.join(each, "node_modules", name)));
  if (!isThere) return `The package "${name}" is not installed: ${adviseInstall(name)}.`;
  if (name === specifier) return `The package "${name}" has no main file that a transform can import.`;
  return `${name} has no "./${specifier.slice(name.length + 1)}".`;
}

/** The name of a file, or one in a folder that stands beside the module. */
function looksRelative(specifier: string, folder: string): boolean {
  const [first = "", ...rest] = specifier.split("/");
  if (rest.length === 0) return EXTENSIONS.includes(path.extname(specifier));
  return !first.startsWith("@") && statIfAny(path.join(folder, first))?.isDirectory() === true;
}

const COMPILER_OPTIONS = ["tsconfig.json", "jsconfig.json"];

/** Whether compiler options of the author's editor give the name a path. */
function isAlias(specifier: string, folder: string): boolean {
  const files = [folder, ...parentsOf(folder)].flatMap((each) => COMPILER_OPTIONS.map((name) => path.join(each, name)));
  return files.some((file) => {
    const text = orElse("", () => readRegularFile(file, MAX_SOURCE_BYTES).toString("utf8"));
    const [, paths = ""] = /"paths"\s*:\s*\{([^}]*)\}/.exec(text) ?? [];
    return Array.from(paths.matchAll(/"([^"*]+)(\*?)"\s*:/g)).some(([, start = "", isOpen]) =>
      isOpen ? specifier.startsWith(start) : specifier === start,
    );
  });
}

/** A problem in a package: most often, it imports something that is not there. */
interface Need {
  /** The same for those that are told together. */
  key: string;
  /** The name that it imports. */
  specifier: string | undefined;
  text: string;
  /** The packages from the one that the author imports to the one that needs it. */
  chain: string[];
  location: BuildError["location"];
}

function toNeed(error: BuildError, build: FailedBuild): Need | undefined {
  const specifier = unresolvedOf(error);
  const { location, text } = error;
  if (!location || !isInstalled(location.file)) return undefined;
  const found = findImport(location.file, build);
  const chain = found?.chain ?? [toOwner(location.file)];
  const isOfNode = specifier !== undefined && isBuiltin(specifier);
  const key = JSON.stringify([found?.file, chain[0], isOfNode || (specifier ?? text)]);
  return { key, specifier, text, chain, location: found ? locate(found, location, build) : location };
}

function explainNeeds(needs: Need[]): BuildError[] {
  const [first] = needs;
  if (!first) return [];
  const { chain, location } = first;
  const name = chain[0] ?? "";
  const chains = [
    ...new Set(needs.filter((need) => need.chain.length > 1).map((need) => need.chain.join(" → "))),
  ].toSorted();
  const more = chains.length > MAX_CHAINS ? ` and ${chains.length - MAX_CHAINS} more` : "";
  const by = chains.length === 0 ? "" : ` Imported by ${chains.slice(0, MAX_CHAINS).join(", ")}${more}.`;
  return [{ text: `${explainNeed(name, first, needs)}${by}`, location }];
}

const MAX_CHAINS = 3;

function explainNeed(name: string, { specifier, text }: Need, needs: Need[]): string {
  if (specifier === undefined) return text;
  if (isBuiltin(specifier))
    return refuseBuiltIns(
      name,
      needs.flatMap((need) => need.specifier ?? []),
    );
  const wanted = specifier.startsWith(".") ? undefined : toPackageName(specifier);
  if (wanted === undefined) return `The package "${name}" needs "${specifier}", which does not exist.`;
  return `The package "${name}" needs "${wanted}", which is not installed: ${adviseInstall(wanted)}.`;
}

/** The author's import that leads to a file of a package. */
interface FoundImport {
  file: string;
  /** Its text in that file. */
  specifier: string;
  chain: string[];
}

/** Searches in breadth, so that the chain is a short one. */
function findImport(target: string, { inputs, entries }: FailedBuild): FoundImport | undefined {
  if (!inputs) return undefined;
  const cameFrom = new Map<string, { file: string; specifier: string } | undefined>(
    entries.map((entry) => [entry, undefined]),
  );
  for (const [file] of cameFrom) {
    for (const { path: imported, original = "", external } of inputs[file]?.imports ?? []) {
      if (!external && !cameFrom.has(imported)) cameFrom.set(imported, { file, specifier: original });
    }
  }
  const chain: string[] = [];
  let at = target;
  for (let from = cameFrom.get(at); from; from = cameFrom.get(at)) {
    const owner = toOwner(at);
    if (chain[0] !== owner) chain.unshift(owner);
    if (!isInstalled(from.file)) return { ...from, chain };
    at = from.file;
  }
  return undefined;
}

/** The place of an import in its file; that of the error if it is not found. */
function locate(
  { file, specifier }: FoundImport,
  location: NonNullable<BuildError["location"]>,
  { root, texts }: FailedBuild,
): BuildError["location"] {
  const text = texts.get(path.resolve(root, file)) ?? "";
  const quoted = ['"', "'"].map((quote) => `${quote}${specifier}${quote}`);
  for (const [index, lineText] of text.split("\n").entries()) {
    const found = quoted.find((each) => lineText.includes(each));
    if (!found || !/\b(?:import|from|require)\b/.test(lineText)) continue;
    return { ...location, file, line: index + 1, column: lineText.indexOf(found), length: found.length, lineText };
  }
  return location;
}
