import { realpathSync, statSync } from "node:fs";
import { isBuiltin } from "node:module";
import path from "node:path";
import { readRegularFile } from "../shared/files.ts";
import type { Loader, OnResolveArgs, Plugin } from "./esbuild.ts";

const OWN_RESOLUTION = Symbol("own resolution");

/**
 * An esbuild plugin that enforces the compile boundary: esbuild opens no file that was not checked before. It checks every
 * import where it is written, so that the error has a line, and every file again when it is read, because glob imports
 * bypass the resolver. Adds each file to `inputs`. `drafts`: texts by file, instead of what is in it.
 */
export function createSourceGate(
  root: string,
  inputs: Set<string>,
  drafts: Record<string, string | undefined> = {},
): Plugin {
  const checkManifests = createManifestCheck(root);
  return {
    name: "source-gate",
    setup(build) {
      build.onResolve({ filter: /.*/ }, async (args) => {
        if (args.pluginData === OWN_RESOLUTION) return undefined;
        const refusal = args.kind === "entry-point" ? undefined : refuseSpecifier(args);
        const problem = refusal ?? checkManifests(args) ?? (await checkTarget(args));
        return problem === undefined ? undefined : { errors: [{ text: problem }] };
      });

      build.onLoad({ filter: /.*/, namespace: "file" }, (args) => {
        const { file, problem } = checkSource(args.path, root);
        if (problem !== undefined) return { errors: [{ text: problem }] };
        inputs.add(file);
        return { contents: withoutMapComment(drafts[file] ?? readText(file)), loader: toLoader(file) };
      });

      async function checkTarget(args: OnResolveArgs): Promise<string | undefined> {
        if (args.kind === "entry-point") return undefined;
        const { importer, kind, resolveDir } = args;
        const found = await build.resolve(args.path, { importer, kind, resolveDir, pluginData: OWN_RESOLUTION });
        if (found.errors.length > 0) return explainMissing(args, inputs);
        // A module that a package excludes on purpose has no file.
        if (!path.isAbsolute(found.path)) return undefined;
        return checkSource(found.path, root).problem;
      }
    },
  };
}

function refuseSpecifier({ path: specifier, with: attributes }: OnResolveArgs): string | undefined {
  if (Object.keys(attributes).length > 0) return "Import attributes are not supported in a transform.";
  if (specifier.startsWith("node:")) return refuseBuiltin(specifier);
  if (/^[a-z][a-z0-9+.-]*:/i.test(specifier)) return `A transform cannot import the URL "${specifier}".`;
  if (path.isAbsolute(specifier)) return `A transform cannot import the absolute path "${specifier}".`;
  return undefined;
}

/** A missing file is watched too, because it may be created later. */
function explainMissing(args: OnResolveArgs, inputs: Set<string>): string {
  if (args.path.startsWith(".")) {
    inputs.add(path.resolve(args.resolveDir, args.path));
    return `The file "${args.path}" does not exist.`;
  }
  // This comes last because a package may bring or exclude a module of such a name.
  if (isBuiltin(args.path)) return refuseBuiltin(args.path);
  return `The package "${args.path}" is not installed: run "npm install ${args.path}" beside the transform.`;
}

function refuseBuiltin(specifier: string): string {
  return `"${specifier}" is part of Node: a transform has no access to files, network or processes.`;
}

/**
 * esbuild would follow a source map's comment and read every file that the map names. The escape changes no text, template
 * or pattern that only looks like such a comment.
 */
export function withoutMapComment(text: string): string {
  return text.replaceAll(/(?<=[#@] )s(?=ourceMappingURL=)/g, String.raw`\u0073`);
}

function readText(file: string): string {
  return readRegularFile(file, MAX_SOURCE_BYTES).toString("utf8");
}

/** undefined: the build will say why. */
export function readIfReadable(file: string): string | undefined {
  try {
    return readText(file);
  } catch {
    return undefined;
  }
}

export function toLoader(file: string): Loader {
  const extension = path.extname(file);
  if (extension === ".json") return "json";
  return extension.endsWith("ts") ? "ts" : "js";
}

const MAX_SOURCE_BYTES = 1024 * 1024;
const EXTENSIONS = [".ts", ".mts", ".cts", ".js", ".mjs", ".cjs", ".json"];

/** A file that is allowed in a bundle, or the reason why it is not. */
type CheckedSource = { file: string; problem?: undefined } | { file?: undefined; problem: string };

/**
 * Checks whether a file may be part of a bundle: code or JSON, a regular file of limited size, inside `root` (a real path)
 * or in a `node_modules` in or above it, all after resolving symlinks. esbuild itself would inline any file. It blocks: the
 * asynchronous calls take ten times the CPU.
 */
export function checkSource(file: string, root: string): CheckedSource {
  const real = toRealPath(file);
  if (real === undefined) return { problem: `The file ${file} does not exist or cannot be read.` };
  if (!isInside(real, root) && !isInstalledAbove(real, root)) {
    return { problem: `${real} is outside ${root}: a transform can only import files inside it.` };
  }
  if (!EXTENSIONS.includes(path.extname(real))) {
    return { problem: `${real} is not code: expected one of ${EXTENSIONS.join(", ")}.` };
  }
  const problem = checkRegular(real);
  return problem === undefined ? { file: real } : { problem };
}

/** A pipe or a device would block the build. */
function checkRegular(file: string): string | undefined {
  const found = statSync(file);
  if (!found.isFile()) return `${file} is not a regular file.`;
  if (found.size <= MAX_SOURCE_BYTES) return undefined;
  return `${file} has ${found.size} bytes; the limit for one file is ${MAX_SOURCE_BYTES}.`;
}

/**
 * Gives a function that checks the `package.json` of each folder that esbuild visits to resolve an import, because esbuild
 * reads these without asking a plugin. Those above `root` are the operator's: they only have to be regular files.
 */
function createManifestCheck(root: string): (args: OnResolveArgs) => string | undefined {
  const checked = new Map<string, string | undefined>();

  function checkFolder(folder: string): string | undefined {
    if (!checked.has(folder)) checked.set(folder, checkWithParents(folder));
    return checked.get(folder);
  }

  function checkWithParents(folder: string): string | undefined {
    const parent = path.dirname(folder);
    const file = path.join(folder, "package.json");
    const problem = exists(file) ? checkManifest(file) : undefined;
    return problem ?? (parent === folder ? undefined : checkFolder(parent));
  }

  function checkManifest(file: string): string | undefined {
    return isInside(file, root) ? checkSource(file, root).problem : checkRegular(file);
  }

  return ({ path: specifier, kind, resolveDir }) => {
    if (kind === "entry-point") return checkFolder(path.dirname(specifier));
    const isRelative = specifier.startsWith(".");
    const folders = isRelative
      ? [resolveDir]
      : parentsOf(resolveDir).map((folder) => path.join(folder, "node_modules"));
    const found = folders.map((folder) => checkFolder(path.join(folder, specifier)));
    return found.find((problem) => problem !== undefined);
  };
}

/** The real path; undefined if there is none. */
export function toRealPath(file: string): string | undefined {
  try {
    return realpathSync.native(file);
  } catch {
    return undefined;
  }
}

function exists(file: string): boolean {
  try {
    const found = statSync(file, { throwIfNoEntry: false });
    return found !== undefined && !found.isDirectory();
  } catch {
    return false;
  }
}

function parentsOf(folder: string): string[] {
  const parent = path.dirname(folder);
  return parent === folder ? [folder] : [folder, ...parentsOf(parent)];
}

function isInside(file: string, folder: string): boolean {
  const relative = path.relative(folder, file);
  return relative !== "" && !relative.startsWith(`..${path.sep}`) && relative !== ".." && !path.isAbsolute(relative);
}

function isInstalledAbove(file: string, root: string): boolean {
  const [holder, ...rest] = file.split(`${path.sep}node_modules${path.sep}`);
  return rest.length > 0 && (root === holder || isInside(root, holder || path.sep));
}
