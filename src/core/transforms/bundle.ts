import { hash } from "node:crypto";
import { isInstalled } from "../shared/system/files.ts";
import { build, type BuildEntry, type BuildOutcome, type Built } from "./build.ts";
import { type CodeCache, createCodeCache, type PackagesCode } from "./code-cache.ts";
import type { BuildError, CommonOptions } from "./esbuild.ts";
import { packSharedText, packText } from "./packed-text.ts";
import { findUsedFiles, type PackageList, type Stub, writeList } from "./package-stubs.ts";
import { PACKAGES } from "./sandbox/protocol.ts";
import type { SourceBoundary } from "./source-boundary.ts";
import { isInside } from "../shared/system/files.ts";

/** A module to bundle with everything that it imports. */
export interface BundleRequest extends BuildEntry {
  boundary: SourceBoundary;
  options: CommonOptions;
  cache?: CodeCache | undefined;
  /** The step of the event loop in which the module was read. */
  began: number;
}

/** A module's own part of its script. */
export interface Output extends Pick<Built, "code" | "sourceMap" | "inputs" | "manifests" | "packages"> {
  /** The other part, which comes first. */
  part?: PackagesCode | undefined;
}

export type Bundled =
  | { compiled: Output; uses: string[]; inputs?: undefined; manifests?: undefined; errors: [] }
  | { compiled?: undefined; uses?: undefined; inputs: string[]; manifests: string[]; errors: BuildError[] };

interface Waiting {
  request: BundleRequest;
  resolve(bundled: Bundled): void;
}

/** By what they may import: their folder and its `transformRoots`. */
const waiting = new Map<string, Waiting[]>();

/** Their results are in memory at the same time. */
const MAX_TOGETHER = 32;
const MAX_LISTS_TOGETHER = 8;

/**
 * Modules of one folder that are asked for in one step of the event loop are built together: most have files in common, which
 * are then read once. It makes the same bundles as a build of each.
 */
export function bundle(request: BundleRequest): Promise<Bundled> {
  if (request.drafts) return bundleAlone(request);
  return new Promise((resolve) => {
    if (waiting.size === 0) setImmediate(bundleWaiting);
    const group = nameFolder(request.boundary);
    waiting.set(group, [...(waiting.get(group) ?? []), { request, resolve }]);
  });
}

function nameFolder({ root, transformRoots }: SourceBoundary): string {
  return JSON.stringify([root, transformRoots]);
}

function bundleWaiting(): void {
  const groups = [...waiting.values()];
  waiting.clear();
  for (const group of groups) void bundleGroup(group);
}

/** One after the other: those that come later find the packages of those before. */
async function bundleGroup(group: Waiting[]): Promise<void> {
  const cache = group[0]?.request.cache ?? createCodeCache();
  for (let start = 0; start < group.length; start += MAX_TOGETHER) {
    const some = group.slice(start, start + MAX_TOGETHER);
    const bundled = await bundleTogether(some.map(({ request }) => ({ ...request, cache })));
    for (const [index, { resolve }] of some.entries()) resolve(bundled[index]!);
  }
}

async function bundleAlone(request: BundleRequest): Promise<Bundled> {
  const [bundled] = await bundleTogether([request]);
  return bundled!;
}

async function bundleTogether(requests: BundleRequest[]): Promise<Bundled[]> {
  const { boundary, options, cache = createCodeCache() } = requests[0]!;
  const began = Math.max(...requests.map((request) => request.began));
  const stubs = new Map<string, Stub>();
  const outcomes = await build(requests, { boundary, options, stubs });
  const own = outcomes.flatMap(({ built }) => built ?? []);
  if (own.length === requests.length) {
    const parts = await joinPackages(own, { boundary, options, cache, began, stubs });
    return Promise.all(parts.map(async (joined, index) => joined ?? bundleWhole(requests[index]!)));
  }
  // Which of several modules an error belongs to is not known, and which package it is about is not either.
  const each = requests.length > 1 ? bundleAlone : stubs.size > 0 ? bundleWhole : undefined;
  return each ? Promise.all(requests.map((request) => each({ ...request, cache }))) : outcomes.map(toBundled);
}

/** In one build with its packages: it knows what is wrong with them, and what they share with the author's files. */
async function bundleWhole({ boundary, options, ...entry }: BundleRequest): Promise<Bundled> {
  const [outcome] = await build([entry], { boundary, options });
  return toBundled(outcome!);
}

function toBundled(outcome: BuildOutcome): Bundled {
  if (!outcome.built) return outcome;
  return { compiled: outcome.built, uses: outcome.built.uses, errors: [] };
}

interface Packages {
  boundary: SourceBoundary;
  options: CommonOptions;
  cache: CodeCache;
  began: number;
  stubs: ReadonlyMap<string, Stub>;
}

/** Gives each module with the code of its packages; undefined if they cannot be built apart. */
async function joinPackages(modules: Built[], packages: Packages): Promise<(Bundled | undefined)[]> {
  const { root } = packages.boundary;
  const files = new Set(Array.from(packages.stubs.values(), ({ file }) => file));
  const used = modules.map(({ code }) => findUsedFiles(code.toString(), packages.stubs));
  const lists = used.map((each, index) =>
    each.used.length === 0 ? undefined : writeList(each.used, modules[index]!.first, root),
  );
  const parts = await findParts(
    lists.filter((list) => list !== undefined),
    packages,
  );
  return modules.map((module, index): Bundled | undefined => {
    const list = lists[index];
    if (!list) return toBundled({ built: module, errors: [] });
    const part = parts.get(list.entry);
    if (!part) return undefined;
    // In both parts, a file would be there twice.
    const isShared = (file: string): boolean => isInside(file, root) && !isInstalled(file) && !files.has(file);
    const all = new Set(part.inputs);
    if (module.inputs.some((file) => isShared(file) && all.has(file))) return undefined;
    const code = Buffer.from(used[index]!.code);
    return { compiled: { ...module, code, part }, uses: module.uses, errors: [] };
  });
}

/** By their entries. */
async function findParts(lists: PackageList[], packages: Packages): Promise<Map<string, PackagesCode>> {
  const { boundary, cache, began } = packages;
  const parts = new Map<string, PackagesCode>();
  const missing = new Map<string, PackageList>();
  for (const list of lists) {
    const known = cache.packages.find(nameFolder(boundary), list.entry, began);
    if (known) parts.set(list.entry, known);
    else missing.set(list.entry, list);
  }
  const left = [...missing.values()];
  for (let start = 0; start < left.length; start += MAX_LISTS_TOGETHER) {
    const made = await buildLists(left.slice(start, start + MAX_LISTS_TOGETHER), packages);
    for (const [entry, part] of made) parts.set(entry, part);
  }
  return parts;
}

/** Without those that cannot be built. */
async function buildLists(lists: PackageList[], packages: Omit<Packages, "stubs">): Promise<Map<string, PackagesCode>> {
  const { boundary, options, cache, began } = packages;
  const since = Date.now();
  const parts = new Map<string, PackagesCode>();
  const outcomes = await build(
    lists.map(({ entry }) => ({ file: entry })),
    {
      boundary,
      options: { ...options, format: "iife", globalName: PACKAGES },
      virtual: new Map(lists.flatMap(({ texts }) => [...texts])),
    },
  );
  for (const [index, { built }] of outcomes.entries()) {
    if (!built || built.isIncomplete) continue;
    const { entry } = lists[index]!;
    const part = await toPart(built);
    parts.set(entry, part);
    cache.packages.keep(nameFolder(boundary), entry, part, { uses: built.uses, since, began });
  }
  if (outcomes.some(({ built }) => built) || lists.length === 1) return parts;
  // Which of several it is about is not known.
  for (const list of lists) {
    for (const [entry, part] of await buildLists([list], packages)) parts.set(entry, part);
  }
  return parts;
}

async function toPart({ code, sourceMap, inputs, manifests, packages }: Built): Promise<PackagesCode> {
  const [readCode, readSourceMap] = await Promise.all([packSharedText(code), packText(Buffer.from(sourceMap))]);
  return {
    get code() {
      return readCode();
    },
    get sourceMap() {
      return readSourceMap();
    },
    hash: hash("sha256", code),
    inputs,
    manifests,
    bytes: code.length,
    packages,
  };
}
