import path from "node:path";
import { isInstalled, parentsOf } from "../shared/system/files.ts";
import { findManifests, listManifests } from "../shared/system/packages.ts";
import { withoutPrefix } from "./built-ins.ts";
import { type PackageSize, sumSizes } from "./code-cache.ts";
import { type BuildError, type CommonOptions, type Message, type Metafile, runEsbuild } from "./esbuild.ts";
import { isVirtual, type Stub, VIRTUAL } from "./package-stubs.ts";
import { type SourceBoundary, toOwner } from "./source-boundary.ts";
import { createSourceGate, type LeftOut } from "./source-gate.ts";
import { explainErrors, findMissing, listMissingManifests, unresolvedOf } from "./unresolved.ts";
import { explainSyntax, findOldDecorators } from "./unsupported.ts";

/** A script to be made by a build. */
export interface BuildEntry {
  /** A real path, or the name of a text of `virtual`. */
  file: string;
  /** Texts by file, instead of what is in it. Such a file need not exist. */
  drafts?: ReadonlyMap<string, string> | undefined;
}

export interface BuildSettings {
  boundary: SourceBoundary;
  options: CommonOptions;
  /** Packages are left out, as `SourceGateOptions` says. */
  stubs?: Map<string, Stub>;
  virtual?: ReadonlyMap<string, string>;
}

export interface Built {
  /** In bytes: V8 would keep most texts in twice the memory. */
  code: Buffer;
  sourceMap: string;
  /** Absolute paths of every file in it. */
  inputs: string[];
  manifests: string[];
  packages: PackageSize[];
  /** Files and folders that decide what is in it. */
  uses: string[];
  /** A package lacks an export that it uses. */
  isIncomplete: boolean;
  /** Files with a stub that run before any of the author's, in their order. */
  first: string[];
}

export type BuildOutcome =
  | { built: Built; errors: [] }
  | { built?: undefined; inputs: string[]; manifests: string[]; errors: BuildError[] };

/** Beside `browser`, builds of packages that need none of Node's modules. The package's order decides. */
const CONDITIONS = ["worker", "edge-light", "module"];

/** esbuild's name for what it says about `import()` of a name that the code computes. */
const DYNAMIC = "unsupported-dynamic-import";

/** esbuild's name for what it says about the use of an export that does not exist. */
const UNDEFINED = "import-is-undefined";

/** Makes all entries in one build. If it fails, all have its errors, which are explained if there is one entry. */
export async function build(
  requests: BuildEntry[],
  { boundary, options, stubs, virtual }: BuildSettings,
): Promise<BuildOutcome[]> {
  const { root } = boundary;
  const entries = [...new Set(requests.map(({ file }) => file))];
  const texts = new Map<string, string>();
  const drafts = requests[0]?.drafts;
  const start = (leftOut?: LeftOut): ReturnType<typeof runEsbuild> =>
    runEsbuild({
      ...options,
      ...(leftOut && { format: "esm" }),
      conditions: CONDITIONS,
      logOverride: { [DYNAMIC]: "warning", [UNDEFINED]: "warning" },
      entryPoints: entries.map((file, index) => ({ in: file, out: toName(index) })),
      absWorkingDir: root,
      nodePaths: [],
      outdir: root,
      sourcesContent: false,
      plugins: [createSourceGate({ boundary, texts, drafts, options, leftOut, stubs, virtual })],
    });
  const { result, errors } = await start();
  if (result === undefined) {
    const missing = errors.flatMap((error) => findMissing(error, root) ?? []);
    const inputs = [...entries, ...texts.keys(), ...missing];
    const manifests = [...findManifests(texts.keys()), ...errors.flatMap((error) => listMissingManifests(error, root))];
    if (requests.length > 1) return requests.map(() => ({ inputs, manifests, errors }));
    const told = await Promise.all(
      errors.map((error) => {
        const file = path.resolve(root, error.location?.file ?? "");
        return explainSyntax(error, texts.get(file), options);
      }),
    );
    const explained = explainErrors(told, {
      root,
      inputs: await findInputs(errors, root, start),
      entries: entries.map((file) => toInputName(file, root)),
      texts,
    });
    return requests.map(() => ({ inputs, manifests, errors: explained }));
  }
  const outputs = new Map(
    result.outputFiles.map(({ path: file, contents: { buffer, byteOffset, length } }) => [
      path.basename(file),
      Buffer.from(buffer, byteOffset, length),
    ]),
  );
  const read = (name: string): Buffer => outputs.get(name) ?? Buffer.alloc(0);
  const all = new Map<string, Input>();
  const look = (name: string): Input => {
    const known = all.get(name) ?? lookAt(name, result.metafile, boundary);
    all.set(name, known);
    return known;
  };
  return requests.map(({ file }): BuildOutcome => {
    const names = findGraph(result.metafile, virtual?.has(file) ? `${VIRTUAL}:${file}` : toInputName(file, root));
    const graph = names.filter((input) => !isVirtual(input)).map(look);
    const inputs = graph.map((input) => input.file);
    const manifests = [...new Set([...findManifests(inputs), ...graph.flatMap(({ preferred }) => preferred)])];
    const stray = graph.find(({ problem }) => problem !== undefined)?.problem;
    if (stray !== undefined) return { inputs, manifests, errors: [{ text: stray, location: null }] };
    const name = toName(entries.indexOf(file));
    const code = read(`${name}.js`);
    const found = [...findLostImports(result.warnings, inputs, root), ...findOldDecorators(code, inputs, root)];
    if (found.length > 0) return { inputs, manifests, errors: found };
    const sourceMap = addOwnSources(read(`${name}.js.map`).toString(), root, texts);
    const packages = measurePackages(result.metafile.outputs[`${name}.js`]);
    const uses = [...new Set(graph.flatMap((input) => input.uses))];
    const isIncomplete = result.warnings.some(
      ({ id, location }) => id === UNDEFINED && isVirtual(location?.file ?? "") && names.includes(location!.file),
    );
    const first = stubs ? findFirst(result.metafile, file, { root, stubs }) : [];
    return { built: { code, sourceMap, inputs, manifests, packages, uses, isIncomplete, first }, errors: [] };
  });
}

function findFirst(
  { inputs }: Metafile,
  entry: string,
  { root, stubs }: { root: string; stubs: ReadonlyMap<string, Stub> },
): string[] {
  const files = new Map(Array.from(stubs.values(), ({ file }) => [toInputName(file, root), file]));
  const found = new Map<string, string>();
  const seen = new Set<string>();

  /** Whether no code of the author runs in it. */
  function visit(name: string): boolean {
    if (seen.has(name)) return true;
    seen.add(name);
    for (const { path: imported, kind, external } of inputs[name]?.imports ?? []) {
      if (kind === "import-statement" && !external && !visit(imported)) return false;
    }
    const file = files.get(name);
    if (file === undefined) return !/\.[mc]?[jt]s$/.test(name);
    found.set(name, file);
    return true;
  }

  visit(toInputName(entry, root));
  return [...found.values()];
}

/** Which file imports which, if an error is in a package: esbuild says so only of a build that succeeds, so one without them does. */
async function findInputs(
  errors: BuildError[],
  root: string,
  start: (leftOut: LeftOut) => ReturnType<typeof runEsbuild>,
): Promise<Metafile["inputs"] | undefined> {
  if (!errors.some(({ location }) => location !== null && isInstalled(location.file))) return undefined;
  const missing = new Set(errors.flatMap((error) => unresolvedOf(error) ?? []));
  const broken = errors.filter((error) => unresolvedOf(error) === undefined && !error.pluginName);
  const files = new Set(broken.flatMap(({ location }) => (location ? [path.resolve(root, location.file)] : [])));
  return (await start({ missing, files })).result?.metafile.inputs;
}

/** Imports of names that the code computes, in files of the author: nothing of such a name is in the bundle. */
function findLostImports(warnings: Message[], inputs: string[], root: string): BuildError[] {
  return warnings
    .filter(({ id, location }) => id === DYNAMIC && location !== null && !isInstalled(location.file))
    .filter(({ location }) => inputs.includes(path.resolve(root, location!.file)))
    .map(({ location }) => ({ text: LOST_IMPORT, location }));
}

const LOST_IMPORT =
  "This import() has a name that the code computes, which finds nothing while a transform runs. Begin it with a folder, as in import(`./texts/${name}.json`), or import each module by its name.";

/** The bytes of each package in a bundle. */
function measurePackages(output: Metafile["outputs"][string] | undefined): PackageSize[] {
  const sizes = Object.entries(output?.inputs ?? {}).map(([file, { bytesInOutput }]) => ({
    name: toOwner(file),
    bytes: bytesInOutput,
  }));
  return sumSizes(sizes.filter(({ name }) => name !== ""));
}

/** The name of an output. Nothing is written under it. */
function toName(index: number): string {
  return `transform-${index}`;
}

function toInputName(file: string, root: string): string {
  return path.relative(root, file).replaceAll(path.sep, "/");
}

/** The files that a module imports, and itself. */
function findGraph({ inputs }: Metafile, entry: string): string[] {
  const found = new Set([entry]);
  for (const input of found) {
    for (const { path: imported, external } of inputs[input]?.imports ?? []) {
      // `(disabled):…` is a module that its package excludes from this platform, `globals:…` one of globals: they have no file.
      if (!external && !/^(?:\(disabled\)|globals):/.test(imported)) found.add(imported);
    }
  }
  return [...found];
}

/** Packages are not shown in a trace, and each bundle would hold their text again. */
function addOwnSources(sourceMap: string, root: string, texts: ReadonlyMap<string, string>): string {
  const map: { sources: string[] } = JSON.parse(sourceMap);
  const sourcesContent = map.sources.map((source) =>
    isInstalled(source) ? null : (texts.get(path.resolve(root, source)) ?? null),
  );
  return JSON.stringify({ ...map, sourcesContent });
}

/** A file of a build, which several of its modules may import. */
interface Input {
  file: string;
  /** Why it must not be in a bundle: the source gate was not asked about it. */
  problem?: string;
  /** Files that a bundle with it depends on: the file, and everything that decides which files it imports. */
  uses: string[];
  /** Where the packages that a file of the author imports are, and where another one would be preferred to them. */
  preferred: string[];
}

function lookAt(name: string, { inputs }: Metafile, boundary: SourceBoundary): Input {
  // An import with an attribute is an input of its own: `data.json with { type: 'json' }`.
  const file = path.resolve(boundary.root, inputs[name]?.with ? name.replace(/ with \{[^{]*\}$/, "") : name);
  const { problem } = boundary.check(file);
  const folders = parentsOf(file);
  const packages = (inputs[name]?.imports ?? [])
    .map(({ original = "." }) => withoutPrefix(original))
    .filter((original) => !original.startsWith("."))
    .map((original) => original.split("/", original.startsWith("@") ? 2 : 1).join("/"));
  const places = packages.flatMap((imported) => listManifests(imported, file));
  const uses = [
    file,
    // Another file there may be preferred.
    ...(isInstalled(name) ? [] : [path.dirname(file)]),
    ...folders.map((folder) => path.join(folder, "package.json")),
    ...places,
  ];
  const preferred = isInstalled(name) ? [] : places;
  return { file, ...(problem === undefined ? {} : { problem }), uses, preferred };
}
