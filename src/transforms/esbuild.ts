import { build, type BuildFailure, type BuildOptions, type BuildResult, type Message, stop } from "esbuild";

export type { BuildOptions, Loader, Message, OnResolveArgs, PartialMessage, Plugin } from "esbuild";

const IDLE_MS = 3000;

let running = 0;
let idleTimer: NodeJS.Timeout | undefined;

export type BuildOutcome =
  | { result: BuildResult<{ write: false; metafile: true }>; errors: [] }
  | { result: undefined; errors: Message[] };

/** Builds in memory. Between builds esbuild keeps a process alive, which is stopped after a while without builds. */
export async function runEsbuild(options: BuildOptions): Promise<BuildOutcome> {
  running++;
  clearTimeout(idleTimer);
  try {
    const result = await build({
      ...options,
      bundle: true,
      write: false,
      metafile: true,
      logLevel: "silent",
    });
    return { result, errors: [] };
  } catch (error) {
    if (!isBuildFailure(error)) throw error;
    return { result: undefined, errors: error.errors };
  } finally {
    running--;
    if (running === 0) idleTimer = setTimeout(() => void stop(), IDLE_MS).unref();
  }
}

function isBuildFailure(error: unknown): error is BuildFailure {
  return error instanceof Error && "errors" in error && Array.isArray(error.errors);
}

const MAX_WIDTH = 160;

/** A source line with a caret under a column, both 1-based; a long line is cut to the part around the column. */
export function showLine(text: string, line: number, column: number): string {
  const start = column > MAX_WIDTH ? column - MAX_WIDTH / 2 : 0;
  const shown = text.slice(start, start + MAX_WIDTH).replaceAll("\t", " ");
  const gutter = `  ${line} | `;
  return `${gutter}${shown}\n${" ".repeat(gutter.length - 2)}| ${" ".repeat(Math.max(0, column - 1 - start))}^`;
}
