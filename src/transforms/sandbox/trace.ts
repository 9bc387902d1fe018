import { SourceMap } from "node:module";
import path from "node:path";
import type { ConfigProblem } from "../../errors.ts";
import { showLine } from "../esbuild.ts";
import type { TransformBundle } from "../runner.ts";
import { BUNDLE_FILE } from "./protocol.ts";

const FRAME = new RegExp(`^\\s*at (?:(.*?) \\()?.*?${BUNDLE_FILE}:(\\d+):(\\d+)`);
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
  const map = loadSourceMap(bundle);
  const frames = toFrames(map, stack);
  const top = frames[0];
  if (!top) return { text: message, place: {} };
  const { file, line, column } = top;
  const { sources, sourcesContent } = map.payload;
  const source = sourcesContent?.[sources.indexOf(file)]?.split("\n")[line - 1];
  const excerpt = source === undefined ? undefined : showLine(source, line, column);
  return {
    text: [message, ...frames.map(toLine), ...(excerpt ? ["", excerpt] : [])].join("\n"),
    place: { file: path.resolve(bundle.spec.root, file), line, column, ...(excerpt ? { excerpt } : {}) },
  };
}

/** Maps of bundles that have failed before: parsing a big one takes milliseconds. */
const loaded = new WeakMap<TransformBundle, SourceMap>();

function loadSourceMap(bundle: TransformBundle): SourceMap {
  const map = loaded.get(bundle) ?? new SourceMap(JSON.parse(bundle.sourceMap));
  loaded.set(bundle, map);
  return map;
}

function toFrames(map: SourceMap, stack: string): Frame[] {
  return stack
    .split("\n")
    .filter((line) => line.length <= MAX_LINE_LENGTH)
    .map((line) => toFrame(map, line))
    .filter((frame) => frame !== undefined)
    .slice(0, MAX_FRAMES);
}

function toFrame(map: SourceMap, text: string): Frame | undefined {
  const [, called = "", line, column] = FRAME.exec(text) ?? [];
  if (line === undefined) return undefined;
  const entry = map.findEntry(Number(line) - 1, Number(column) - 1);
  if (!("originalSource" in entry) || entry.originalSource.includes("node_modules/")) return undefined;
  // esbuild names an anonymous default export after its file.
  const name = called.endsWith("_default") ? "" : called;
  return { name, file: entry.originalSource, line: entry.originalLine + 1, column: entry.originalColumn + 1 };
}

function toLine({ name, file, line, column }: Frame): string {
  const place = `${file}:${line}:${column}`;
  return `    at ${name ? `${name} (${place})` : place}`;
}
