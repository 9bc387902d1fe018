import { SourceMap, type SourceMapPayload } from "node:module";
import path from "node:path";
import type { ConfigProblem } from "../../errors.ts";
import { showLine } from "../esbuild.ts";
import type { TransformBundle } from "../runner.ts";
import { BUNDLE_FILE } from "./protocol.ts";

const FRAME = new RegExp(`^\\s*at (?:(.*?) \\()?.*?${BUNDLE_FILE}:(\\d+):(\\d+)`);
const MAX_FRAMES = 10;
/** A stack is written by whoever throws: the pattern must not be made to work on much. */
const MAX_LINE_LENGTH = 500;

/** A place in a file of the author's. */
interface Frame {
  name: string;
  file: string;
  line: number;
  column: number;
}

/** An error of a transform in the author's own terms. */
export interface Trace {
  /** Message, stack and the source line with a caret, for a terminal. */
  text: string;
  /** Where it happened, if that is known; `file` is absolute. */
  place: Pick<ConfigProblem, "file" | "line" | "column" | "excerpt">;
}

/** Maps a stack in bundle positions back to the author's files; frames of packages and of the sandbox are left out. */
export function traceStack(bundle: TransformBundle, message: string, stack: string): Trace {
  const map = loadSourceMap(bundle);
  const frames = toFrames(map, stack);
  const top = frames[0];
  if (!top) return { text: message, place: {} };
  const excerpt = quoteSource(map.payload, top);
  const lines = frames.map(({ name, file, line, column }) => {
    const place = `${file}:${line}:${column}`;
    return `    at ${name ? `${name} (${place})` : place}`;
  });
  const { file, line, column } = top;
  return {
    text: [message, ...lines, ...(excerpt ? ["", excerpt] : [])].join("\n"),
    place: { file: path.resolve(bundle.spec.root, file), line, column, ...(excerpt ? { excerpt } : {}) },
  };
}

/** Maps of bundles that have failed before: a big one takes milliseconds to read. */
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
  // A default export without a name gets one from esbuild, after its file.
  const name = called.endsWith("_default") ? "" : called;
  return { name, file: entry.originalSource, line: entry.originalLine + 1, column: entry.originalColumn + 1 };
}

function quoteSource(payload: SourceMapPayload, { file, line, column }: Frame): string | undefined {
  const source = payload.sourcesContent?.[payload.sources.indexOf(file)];
  const text = source?.split("\n")[line - 1];
  return text === undefined ? undefined : showLine(text, line, column);
}
