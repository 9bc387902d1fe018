import path from "node:path";
import { isInstalled, parentsOf } from "../shared/system/files.ts";
import { findManifests, listManifests } from "../shared/system/packages.ts";
import { type BuildError, type CommonOptions, type Metafile, runEsbuild } from "./esbuild.ts";
import type { SourceBoundary } from "./source-boundary.ts";
import { createSourceGate } from "./source-gate.ts";
import { explainErrors, findMissing, listMissingManifests, unresolvedOf } from "./unresolved.ts";

/** A module to bundle with everything that it imports. */
export interface BundleRequest {
  /** A real path. */
  file: string;
  /** Instead of what is in the file. */
  draft?: string;
  boundary: SourceBoundary;
  options: CommonOptions;
}

/** A module as esbuild bundled it. */
export interface Output {
  /** In bytes: V8 would keep most texts in twice the memory. */
  code: Buffer;
  sourceMap: string;
  inputs: string[];
  manifests: string[];
}

export type Bundled =
  | { compiled: Output; uses: string[]; inputs?: undefined; manifests?: undefined; errors: [] }
  | { compiled?: undefined; uses?: undefined; inputs: string[]; manifests: string[]; errors: BuildError[] };

interface Waiting {
  request: BundleRequest;
  resolve(bundled: Bundled | Promise<Bundled>): void;
}

/** By what they may import: their folder and its `transformRoots`. */
const waiting = new Map<string, Waiting[]>();

/** Their results are in memory at the same time. */
const MAX_TOGETHER = 8;

/**
 * Modules of one folder that are asked for in one step of the event loop are built together: most have their packages in
 * common, which are then read once. It makes the same bundles as a build of each.
 */
export function bundle(request: BundleRequest): Promise<Bundled> {
  if (request.draft !== undefined) return bundleAlone(request);
  return new Promise((resolve) => {
    if (waiting.size === 0) setImmediate(bundleWaiting);
    const { root, transformRoots } = request.boundary;
    const group = JSON.stringify([root, transformRoots]);
    waiting.set(group, [...(waiting.get(group) ?? []), { request, resolve }]);
  });
}

function bundleWaiting(): void {
  const groups = [...waiting.values()];
  waiting.clear();
  for (const group of groups) {
    for (let start = 0; start < group.length; start += MAX_TOGETHER) {
      void bundleTogether(group.slice(start, start + MAX_TOGETHER));
    }
  }
}

/** Which of several modules an error belongs to is not known, so each is built again alone then. */
async function bundleTogether(group: Waiting[]): Promise<void> {
  const bundled = await build(group.map(({ request }) => request));
  const isKnown = group.length === 1 || bundled.every(({ errors }) => errors.length === 0);
  for (const [index, { request, resolve }] of group.entries()) {
    resolve(isKnown ? bundled[index]! : bundleAlone(request));
  }
}

async function bundleAlone(request: BundleRequest): Promise<Bundled> {
  const [bundled] = await build([request]);
  return bundled!;
}

/** Beside `browser`, builds of packages that need none of Node's modules. The package's order decides. */
const CONDITIONS = ["worker", "edge-light", "module"];

async function build(requests: BundleRequest[]): Promise<Bundled[]> {
  const { boundary, options } = requests[0]!;
  const { root } = boundary;
  const entries = [...new Set(requests.map(({ file }) => file))];
  const texts = new Map<string, string>();
  const drafts = new Map(requests.map(({ file, draft }) => [file, draft]));
  const start = (missing?: ReadonlySet<string>): ReturnType<typeof runEsbuild> =>
    runEsbuild({
      ...options,
      conditions: CONDITIONS,
      entryPoints: entries.map((file, index) => ({ in: file, out: toName(index) })),
      absWorkingDir: root,
      nodePaths: [],
      outdir: root,
      sourcesContent: false,
      plugins: [createSourceGate({ boundary, texts, drafts, options, missing })],
    });
  const { result, errors } = await start();
  if (result === undefined) {
    const missing = errors.flatMap((error) => findMissing(error, root) ?? []);
    const inputs = [...entries, ...texts.keys(), ...missing];
    const manifests = [...findManifests(texts.keys()), ...errors.flatMap((error) => listMissingManifests(error, root))];
    if (requests.length > 1) return requests.map(() => ({ inputs, manifests, errors }));
    const explained = explainErrors(errors, {
      root,
      inputs: await findInputs(errors, start),
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
  return requests.map(({ file }): Bundled => {
    const graph = findGraph(result.metafile, toInputName(file, root)).map(look);
    const inputs = graph.map((input) => input.file);
    const manifests = [...new Set([...findManifests(inputs), ...graph.flatMap(({ preferred }) => preferred)])];
    const stray = graph.find(({ problem }) => problem !== undefined)?.problem;
    if (stray !== undefined) return { inputs, manifests, errors: [{ text: stray, location: null }] };
    const name = toName(entries.indexOf(file));
    const sourceMap = addOwnSources(read(`${name}.js.map`).toString(), root, texts);
    const compiled = { code: read(`${name}.js`), sourceMap, inputs, manifests };
    return { compiled, uses: [...new Set(graph.flatMap(({ uses }) => uses))], errors: [] };
  });
}

/** Which file imports which, if imports inside of packages are all that is missing: esbuild says so only of a build that succeeds. */
async function findInputs(
  errors: BuildError[],
  start: (missing: ReadonlySet<string>) => ReturnType<typeof runEsbuild>,
): Promise<Metafile["inputs"] | undefined> {
  const missing = new Set(errors.flatMap((error) => unresolvedOf(error) ?? []));
  const isInPackage = errors.some(({ location }) => location !== null && isInstalled(location.file));
  return isInPackage && missing.size > 0 ? (await start(missing)).result?.metafile.inputs : undefined;
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
      // `(disabled):…` is a module that its package excludes from this platform; it has no file.
      if (!external && !imported.startsWith("(disabled):")) found.add(imported);
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
    .map(({ original = "." }) => original)
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
