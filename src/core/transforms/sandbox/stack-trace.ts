import { SourceMap } from "node:module";
import path from "node:path";
import type { ConfigProblem } from "../../errors.ts";
import { showLine } from "../esbuild.ts";
import { isVirtual } from "../package-stubs.ts";
import type { TransformBundle } from "../runner.ts";
import { BUNDLE_FILE, PACKAGES_FILE } from "./protocol.ts";

const FRAME = new RegExp(`^\\s*at (?:(.*?) \\()?.*?(${BUNDLE_FILE}|${PACKAGES_FILE}):(\\d+):(\\d+)`);
const MAX_FRAMES = 10;
/** A transform can write the stack itself, and the pattern must not become slow on a long line. */
const MAX_LINE_LENGTH = 500;

/** A position in one of the author's files. */
interface Frame {
  name: string;
  file: string;
  line: number;
  column: number;
}

export interface Trace {
  /** Message, stack and the source line with a caret, for a terminal. */
  text: string;
  /** Where it happened, if that is known; `file` is absolute. */
  place: Pick<ConfigProblem, "file" | "line" | "column" | "excerpt">;
}

/** Maps a stack of the bundle back to the author's files. Frames of packages and of the sandbox are left out. */
export function traceStack(bundle: TransformBundle, message: string, stack: string): Trace {
  const all = toFrames(bundle, stack);
  const frames = all.filter(({ file }) => !PACKAGE.test(file)).slice(0, MAX_FRAMES);
  const top = frames[0];
  if (!top) {
    const name = findPackage(bundle, stack);
    return { text: message, place: name === undefined ? {} : findImport(bundle, name) };
  }
  const { file, line, column } = top;
  const text = loadSourceMaps(bundle)
    .find(({ texts }) => texts.get(file))
    ?.texts.get(file);
  const source = text?.split("\n")[line - 1];
  const excerpt = source === undefined ? undefined : showLine(source, line, column);
  return {
    text: [message, ...frames.map(toLine), ...(excerpt ? ["", excerpt] : [])].join("\n"),
    place: { file: path.resolve(bundle.spec.root, file), line, column, ...(excerpt ? { excerpt } : {}) },
  };
}

interface LoadedMap {
  map: SourceMap;
  /** Texts of the author's files, by their names. */
  texts: Map<string, string>;
}

/** Maps of code that has failed before: parsing a big map takes milliseconds. */
const loaded = new WeakMap<WithMap, LoadedMap>();

type WithMap = Pick<TransformBundle, "sourceMap">;

function loadSourceMap(code: WithMap): LoadedMap {
  const known = loaded.get(code);
  if (known) return known;
  const map = new SourceMap(JSON.parse(code.sourceMap));
  const { sources, sourcesContent } = map.payload;
  const made = { map, texts: new Map(sources.map((source, index) => [source, sourcesContent?.[index] || ""])) };
  loaded.set(code, made);
  return made;
}

/** Maps of the module's own part and of its packages, which may be linked. */
function loadSourceMaps(bundle: TransformBundle): LoadedMap[] {
  return [bundle, ...(bundle.part ? [bundle.part] : [])].map(loadSourceMap);
}

/** The package whose code is on top of the stack; undefined if the author's own is. */
export function findPackage(bundle: TransformBundle, stack: string): string | undefined {
  return PACKAGE.exec(toFrames(bundle, stack)[0]?.file ?? "")?.[1];
}

const PACKAGE = /^.*node_modules\/((?:@[^/]+\/)?[^/]+)/s;

/** Where one of the author's files imports a package. */
function findImport(bundle: TransformBundle, name: string): Trace["place"] {
  const specifier = new RegExp(`["']${RegExp.escape(name)}(?:/[^"']*)?["']`);
  for (const [source, text] of loadSourceMaps(bundle).flatMap(({ texts }) => [...texts])) {
    const lines = text.split("\n");
    const line = lines.findIndex((each) => /\bfrom\b|import|require/.test(each) && specifier.test(each));
    if (line === -1) continue;
    const column = lines[line]!.search(specifier) + 1;
    const file = path.resolve(bundle.spec.root, source);
    return { file, line: line + 1, column, excerpt: showLine(lines[line]!, line + 1, column) };
  }
  return {};
}

function toFrames(bundle: TransformBundle, stack: string): Frame[] {
  return stack
    .split("\n")
    .filter((line) => line.length <= MAX_LINE_LENGTH)
    .map((line) => toFrame(bundle, line))
    .filter((frame) => frame !== undefined);
}

function toFrame(bundle: TransformBundle, text: string): Frame | undefined {
  const [, called = "", of, line, column] = FRAME.exec(text) ?? [];
  const code = of === PACKAGES_FILE ? bundle.part : bundle;
  if (line === undefined || !code) return undefined;
  const entry = loadSourceMap(code).map.findEntry(Number(line) - 1, Number(column) - 1);
  if (!("originalSource" in entry) || isVirtual(entry.originalSource)) return undefined;
  // esbuild names an anonymous default export after its file.
  const name = called.endsWith("_default") ? "" : called;
  return { name, file: entry.originalSource, line: entry.originalLine + 1, column: entry.originalColumn + 1 };
}

function toLine({ name, file, line, column }: Frame): string {
  const place = `${file}:${line}:${column}`;
  return `    at ${name ? `${name} (${place})` : place}`;
}
