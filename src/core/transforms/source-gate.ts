import { readdirSync } from "node:fs";
import path from "node:path";
import { messageOf } from "../errors.ts";
import { isObject } from "../shared/json.ts";
import { isInside, isInstalled, orElse, parentsOf, readRegularFile } from "../shared/system/files.ts";
import { refuseWalks } from "./dynamic-imports.ts";
import {
  type CommonOptions,
  noteProgress,
  type OnLoadArgs,
  type OnResolveArgs,
  type OnResolveResult,
  type Plugin,
  type PluginBuild,
  transformText,
} from "./esbuild.ts";
import { findGlobalModule, isOnNpm, withoutPrefix } from "./built-ins.ts";
import { isOfPackage, isOfStub, type Stub, VIRTUAL, writeStub } from "./package-stubs.ts";
import {
  checkRegular,
  EXTENSIONS,
  exists,
  isCode,
  MAX_SOURCE_BYTES,
  readManifest,
  type SourceBoundary,
  toLoader,
} from "./source-boundary.ts";

export interface SourceGateOptions {
  boundary: SourceBoundary;
  /** Each file that is read is added, with its text. */
  texts: Map<string, string>;
  /** Texts by file, instead of what is in it. Such a file need not exist. */
  drafts?: ReadonlyMap<string, string> | undefined;
  /** How the build reads a file. */
  options: CommonOptions;
  /** For a build that only finds which file imports which. */
  leftOut?: LeftOut | undefined;
  /** Files of packages are left out: each that is imported is added, and a stub is built in its place. */
  stubs?: Map<string, Stub> | undefined;
  /** Texts without a file, by their names. */
  virtual?: ReadonlyMap<string, string> | undefined;
}

export interface LeftOut {
  /** Imports of names that nothing is found for. */
  missing: ReadonlySet<string>;
  /** Files with errors. Files that are refused are left out too. */
  files: ReadonlySet<string>;
}

/**
 * An esbuild plugin that enforces the compile boundary: esbuild gets the text of each file from here, after a check of the
 * real path. A refusal is reported where the file is imported. The calls cost more than the checks, so esbuild resolves
 * imports by itself, and asks only about those that could lead to a `package.json` which was not checked.
 */
export function createSourceGate({
  boundary,
  texts,
  drafts,
  options,
  leftOut,
  stubs,
  virtual,
}: SourceGateOptions): Plugin {
  const { root } = boundary;
  const manifests = createManifestCheck(boundary);
  return {
    name: "source-gate",
    setup(build) {
      if (drafts) build.onResolve({ filter: /^[./]/ }, (args) => findDraft(args, drafts));
      build.onResolve({ filter: VISITS_A_FOLDER }, (args) => {
        if (leftOut?.missing.has(args.path)) return { external: true };
        const isOwn = args.kind === "entry-point" || args.namespace === VIRTUAL;
        if (isOwn && virtual?.has(args.path)) return { path: args.path, namespace: VIRTUAL };
        if (stubs && isOfStub(args.path) && isOfPackage(args.importer, root)) return { external: true };
        const refusal = args.kind === "entry-point" ? undefined : refuseSpecifier(args);
        const problem = refusal ?? manifests.checkImport(args);
        if (problem !== undefined) return { errors: [{ text: problem }] };
        return args.pluginData === OF_NODE ? undefined : resolveOfNode(args, build);
      });

      build.onLoad({ filter: /.*/, namespace: "file" }, async (args) => {
        noteProgress();
        if (!isAllowedWith(args)) return refuse(`A transform may have no import attributes but type: "json", of JSON.`);
        const folderProblem = manifests.checkFolder(path.dirname(args.path));
        if (folderProblem === undefined && manifests.isExcluded(args.path)) return { contents: "module.exports = {};" };
        if (leftOut?.files.has(args.path)) return { contents: "" };
        const { file, problem } = boundary.check(args.path);
        const found = problem ?? folderProblem;
        if (leftOut && found !== undefined) return { contents: "" };
        if (file === undefined || found !== undefined) return refuse(found ?? "");
        const draft = drafts?.get(file);
        const read = draft === undefined ? tryToRead(file) : { text: draft };
        if (read.text === undefined) return refuse(read.unreadable);
        const { text } = read;
        const stub = stubs && isOfPackage(file, root) ? await writeStub(text, file, { root, stubs }) : undefined;
        if (stub !== undefined) return { contents: stub, loader: "js" };
        texts.set(file, text);
        const walk = await refuseWalks(text, file, { boundary, options });
        if (walk !== undefined) return refuse(walk);
        const contents = await withoutProcess(withoutMapComment(text), file, options);
        return { contents, loader: toLoader(file) };
      });

      build.onLoad({ filter: /.*/, namespace: VIRTUAL }, ({ path: name }) => ({
        contents: virtual?.get(name) ?? "",
        resolveDir: root,
      }));

      build.onLoad({ filter: /.*/, namespace: GLOBALS }, ({ path: name }) => ({
        contents: findGlobalModule(name) ?? "",
      }));
    },
  };
}

/** A draft that is in no file yet, as esbuild would find the file. */
function findDraft(
  { path: specifier, resolveDir }: OnResolveArgs,
  drafts: ReadonlyMap<string, string>,
): OnResolveResult | undefined {
  const named = path.resolve(resolveDir, specifier);
  const file = [named, ...EXTENSIONS.map((extension) => named.replace(/\.js$/, "") + extension)].find((one) =>
    drafts.has(one),
  );
  return file === undefined || exists(file) ? undefined : { path: file };
}

/** Marks imports that `resolveOfNode` has made. */
const OF_NODE = Symbol("of Node");
/** The namespace of modules whose functions are globals. */
const GLOBALS = "globals";

/**
 * Finds `node:events` as the npm package `events`, as esbuild does without the prefix, and `timers` among the globals. What a
 * package brings or excludes itself comes first.
 */
function resolveOfNode(args: OnResolveArgs, build: PluginBuild): Promise<OnResolveResult | undefined> | undefined {
  const name = withoutPrefix(args.path);
  const isKnown = findGlobalModule(name) !== undefined || (name !== args.path && isOnNpm(name));
  return isKnown ? findOfNode(args, name, build) : undefined;
}

async function findOfNode(
  { path: specifier, importer, kind, resolveDir, with: attributes }: OnResolveArgs,
  name: string,
  build: PluginBuild,
): Promise<OnResolveResult | undefined> {
  const options = { importer, kind, resolveDir, with: attributes, pluginData: OF_NODE };
  const own = await build.resolve(specifier, options);
  // esbuild finds it in the same way.
  if (own.errors.length === 0) return undefined;
  const { errors, path: file } = await build.resolve(name, options);
  // A path that is no file: the package excludes the module.
  if (errors.length === 0 && path.isAbsolute(file)) return { path: file };
  return errors.length === 0 || findGlobalModule(name) !== undefined ? { path: name, namespace: GLOBALS } : undefined;
}

/** Packages read these while they load. With another platform than Node's, they do without the rest of the process. */
const OF_PROCESS = /\bprocess\.(?:platform\b|env\b(?!\.NODE_ENV\b))/;
const PROCESS = { "process.env": "{}", "process.platform": '"browser"' };

/** A package finds an empty environment. For the author it is missing, which says where values come from. */
async function withoutProcess(text: string, file: string, options: CommonOptions): Promise<string> {
  if (toLoader(file) === "json" || !isInstalled(file) || !OF_PROCESS.test(text)) return text;
  const define = { ...options.define, ...PROCESS };
  const { format: _, ...rest } = options;
  const { result } = await transformText(text, { ...rest, define, loader: toLoader(file), sourcemap: false });
  return result?.code ?? text;
}

/** Other types would give a file to another loader. */
function isAllowedWith({ path: file, with: attributes }: OnLoadArgs): boolean {
  return Object.entries(attributes).every(
    ([key, value]) => key === "type" && value === toLoader(file) && value === "json",
  );
}

function refuse(text: string): { errors: { text: string }[] } {
  return { errors: [{ text }] };
}

/**
 * All imports but those of a code file in the same folder or in one above it, such as `./add.js` and `../../fp.js`: these
 * folders are checked already. The expressions of esbuild have no look-ahead.
 */
const VISITS_A_FOLDER = new RegExp(
  [
    String.raw`^[^.]`,
    String.raw`^\.[^./]`,
    // Another folder on the way.
    String.raw`(?:^|\/)(?:[^./][^/]*|\.[^./][^/]*|\.\.[^/]+)\/`,
    // Another end than .js or .ts, .mjs, .cjs, .mts or .cts.
    String.raw`(?:[^s]|[^jt]s|[^.cm][jt]s|[^.][cm][jt]s)$`,
  ].join("|"),
);

function refuseSpecifier({ path: specifier }: OnResolveArgs): string | undefined {
  // esbuild finds none of Node's modules, but a package may replace one.
  if (specifier.startsWith("node:")) return undefined;
  if (/^[a-z][a-z0-9+.-]*:/i.test(specifier)) return `A transform cannot import the URL "${specifier}".`;
  if (path.isAbsolute(specifier)) return `A transform cannot import the absolute path "${specifier}".`;
  return undefined;
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

/** esbuild would say where in its own code the error was thrown. */
function tryToRead(file: string): { text: string } | { text?: undefined; unreadable: string } {
  try {
    return { text: readText(file) };
  } catch (error) {
    return { unreadable: `The file cannot be read: ${messageOf(error)}.` };
  }
}

/** undefined: the build will say why. */
export function readIfReadable(file: string): string | undefined {
  return orElse(undefined, () => readText(file));
}

interface ManifestCheck {
  /** Gives the first problem in a folder and those above it. */
  checkFolder(folder: string): string | undefined;
  checkImport(args: OnResolveArgs): string | undefined;
  /** Whether its package has `"browser": { "./file.js": false }`. Only for a file in a folder without a problem. */
  isExcluded(file: string): boolean;
}

/**
 * Checks the `package.json` of each folder that esbuild visits to resolve an import, because esbuild reads these without
 * asking a plugin. Files above `root` are the operator's: they only have to be regular files.
 */
function createManifestCheck(boundary: SourceBoundary): ManifestCheck {
  const { root } = boundary;
  const checked = new Map<string, string | undefined>();
  const excluded = new Map<string, Set<string>>();

  function checkFolder(folder: string): string | undefined {
    if (!checked.has(folder)) checked.set(folder, checkWithParents(folder));
    return checked.get(folder);
  }

  function checkWithParents(folder: string): string | undefined {
    const parent = path.dirname(folder);
    const file = path.join(folder, "package.json");
    const problem = exists(file) ? checkManifest(file) : undefined;
    return problem ?? checkDisguised(folder) ?? (parent === folder ? undefined : checkFolder(parent));
  }

  function checkManifest(file: string): string | undefined {
    return isInside(file, root) ? boundary.check(file).problem : checkRegular(file);
  }

  /** esbuild visits a folder `x.js` for the import of `./x.js`, about which it does not ask. */
  function checkDisguised(folder: string): string | undefined {
    if (folder !== root && !isInside(folder, root)) return undefined;
    const files = orElse([], () => readdirSync(folder))
      .filter(isCode)
      .map((name) => path.join(folder, name, "package.json"));
    return files
      .filter(exists)
      .map(checkManifest)
      .find((problem) => problem !== undefined);
  }

  function checkImport({ path: specifier, kind, resolveDir }: OnResolveArgs): string | undefined {
    if (kind === "entry-point") return checkFolder(path.dirname(specifier));
    const isRelative = specifier.startsWith(".");
    const folders = isRelative
      ? [resolveDir]
      : [resolveDir, ...parentsOf(resolveDir)].map((folder) => path.join(folder, "node_modules"));
    const found = folders.map((folder) => checkFolder(path.join(folder, specifier)));
    return found.find((problem) => problem !== undefined);
  }

  function isExcluded(file: string): boolean {
    return findExcluded(path.dirname(file)).has(file);
  }

  /** The nearest `package.json` with such a map decides. An entry may leave out the ending `.js`. */
  function findExcluded(folder: string): Set<string> {
    const known = excluded.get(folder);
    if (known) return known;
    const { browser } = readManifest(folder, '"browser"');
    const parent = path.dirname(folder);
    const found = isObject(browser)
      ? new Set(
          Object.keys(browser)
            .filter((key) => key.startsWith(".") && browser[key] === false)
            .flatMap((key) => [key, `${key}.js`, key.replace(/\.js$/, "")])
            .map((key) => path.resolve(folder, key)),
        )
      : parent === folder
        ? new Set<string>()
        : findExcluded(parent);
    excluded.set(folder, found);
    return found;
  }

  return { checkFolder, checkImport, isExcluded };
}
