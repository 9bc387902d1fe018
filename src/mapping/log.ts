import type { LogLine } from "../types.ts";

/** Under `forEach` a transform is called many times; each call is bounded by itself. */
const MAX_LINES = 500;

/** Keeps what a call printed, up to a limit that is told. */
export function appendLog(log: LogLine[], lines: readonly LogLine[]): void {
  for (const line of lines) {
    if (log.length > MAX_LINES) return;
    log.push(log.length < MAX_LINES ? line : END);
  }
}

const END: LogLine = { level: "warn", text: `The log ends here: it holds ${MAX_LINES} lines of a request.` };
