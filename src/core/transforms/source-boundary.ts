import { statSync } from "node:fs";
import path from "node:path";
import { isInside, orElse, parentsOf, readRegularFile, statIfAny, toRealPath } from "../shared/system/files.ts";
import type { Loader } from "./esbuild.ts";
import { isObject, parseObject } from "../shared/json.ts";

export const MAX_SOURCE_BYTES = 1024 * 1024;
export const EXTENSIONS = [".ts", ".mts", ".cts", ".js", ".mjs", ".cjs", ".json"];

export const JSX = "JSX, which a transform does not have";

/** A file that is allowed in a bundle, or the reason why it is not. */
type CheckedSource = { file: string; problem?: undefined } | { file?: undefined; problem: string };

/** Limits the files that the bundles of one folder may contain. */
export interface SourceBoundary {
  /** The folder, as a real path. */
  root: string;
  /** Folders whose packages may be linked, beside those of the workspace. */
  transformRoots: string[];
  /**
   * Checks whether a file may be part of a bundle: code or JSON, a regular file of limited size, inside `root`, in a
   * `node_modules` in or above it, or in a linked package, all after resolving symlinks. esbuild itself would inline any
   * file. It blocks: the asynchronous calls take ten times the CPU.
   */
  check(file: string): CheckedSource;
  /** Whether a real path is in one of these places. */
  contains(real: string): boolean;
}

/** `drafts`: files that count as there. */
export function createSourceBoundary(
  root: string,
  transformRoots: string[] = [],
  drafts?: ReadonlyMap<string, string>,
): SourceBoundary {
  let checkLink: ReturnType<typeof createLinkCheck> | undefined;
  const isLinked = (real: string): boolean => (checkLink ??= createLinkCheck(root, transformRoots))(real);
  const contains = (real: string): boolean => isInside(real, root) || isInstalledAbove(real, root) || isLinked(real);
  return {
    root,
    transformRoots,
    contains,
    check(file) {
      if (drafts?.has(file)) return { file };
      const real = toRealPath(file);
      if (real === undefined) return { problem: `The file ${file} does not exist or cannot be read.` };
      if (!contains(real)) {
        return {
          problem: `${real} is outside ${root}: a transform can only import files inside it, installed packages and linked packages of the same workspace. List folders of other linked packages in hooks.transformRoots.`,
        };
      }
      if (!isCode(real)) return { problem: explainNoCode(real) };
      const problem = checkRegular(real);
      return problem === undefined ? { file: real } : { problem };
    },
  };
}

export function isCode(file: string): boolean {
  return EXTENSIONS.includes(path.extname(file));
}

export function toLoader(file: string): Loader {
  const extension = path.extname(file);
  if (extension === ".json") return "json";
  return extension.endsWith("ts") ? "ts" : "js";
}

/** A pipe or a device would block the build. */
export function checkRegular(file: string): string | undefined {
  const found = statSync(file);
  if (!found.isFile()) return `${file} is not a regular file.`;
  if (found.size <= MAX_SOURCE_BYTES) return undefined;
  const size = `has ${found.size} bytes; the limit for one file is ${MAX_SOURCE_BYTES}.`;
  const owner = toOwner(file);
  return owner === ""
    ? `${file} ${size}`
    : `The package "${owner}" is too large: ${path.basename(file)} ${size} ${OTHER}`;
}

const OTHER = "Use another package.";

/** Kinds of files that transforms cannot use, by their ending. */
const KINDS: Record<string, string> = {
  ".jsx": JSX,
  ".tsx": JSX,
  ".wasm": "WebAssembly, which a transform cannot run",
  ".node": "a native module, which a transform cannot run",
};

function explainNoCode(file: string): string {
  const kind = KINDS[path.extname(file)];
  const owner = toOwner(file);
  if (kind !== undefined)
    return owner === "" ? `${file} has ${kind}.` : `The package "${owner}" needs ${kind}. ${OTHER}`;
  return `${file} is not code: expected one of ${EXTENSIONS.join(", ")}.`;
}

/** The name of the package that a file belongs to; empty for a file of the author. */
export function toOwner(file: string): string {
  return (OF_PACKAGE.exec(file)?.[1] ?? "").replaceAll("\\", "/");
}

const OF_PACKAGE = /^.*[/\\]?node_modules[/\\]((?:@[^/\\]+[/\\])?[^/\\]+)/s;

/**
 * Gives a function that finds whether a real path is in a package that a `node_modules` links to by the package's own name,
 * if that package is below the nearest folder that declares workspaces, or in one of `transformRoots`.
 */
function createLinkCheck(root: string, transformRoots: string[]): (real: string) => boolean {
  const roots = transformRoots.map((folder) => toRealPath(folder) ?? folder);
  /** Where links are looked for. A linked package can have links to others. */
  const holders = [root, ...parentsOf(root)];
  const workspace = holders.find(declaresWorkspaces);
  const linked = new Set<string>();

  function isAllowed(folder: string): boolean {
    const isBelow = workspace !== undefined && isInside(folder, workspace);
    return isBelow || roots.some((each) => folder === each || isInside(folder, each));
  }

  function isLinkedPackage(folder: string): boolean {
    const name = isAllowed(folder) ? readPackageName(folder) : undefined;
    if (name === undefined) return false;
    return holders.some((holder) => toRealPath(path.join(holder, "node_modules", name)) === folder);
  }

  return (real) => {
    const folders = parentsOf(real);
    if (folders.some((folder) => linked.has(folder))) return true;
    const found = folders.find(isLinkedPackage);
    if (found === undefined) return false;
    linked.add(found);
    holders.push(found);
    return true;
  };
}

function declaresWorkspaces(folder: string): boolean {
  const { workspaces } = readManifest(folder);
  return Array.isArray(workspaces) || isObject(workspaces) || exists(path.join(folder, "pnpm-workspace.yaml"));
}

const PACKAGE_NAME = /^(?:@[\w-][\w.-]*\/)?[\w-][\w.-]*$/;

function readPackageName(folder: string): string | undefined {
  const { name } = readManifest(folder);
  return typeof name === "string" && PACKAGE_NAME.test(name) ? name : undefined;
}

/** The `package.json` of a folder. Empty if there is none that can be read, or none with this word: some are large. */
export function readManifest(folder: string, word = ""): Record<string, unknown> {
  const file = path.join(folder, "package.json");
  return orElse({}, () => {
    const text = readRegularFile(file, MAX_SOURCE_BYTES).toString("utf8");
    return text.includes(word) ? parseObject(text) : {};
  });
}

/** Something that is no folder. */
export function exists(file: string): boolean {
  return statIfAny(file)?.isDirectory() === false;
}

function isInstalledAbove(file: string, root: string): boolean {
  const [holder, ...rest] = file.split(`${path.sep}node_modules${path.sep}`);
  return rest.length > 0 && (root === holder || isInside(root, holder || path.sep));
}
