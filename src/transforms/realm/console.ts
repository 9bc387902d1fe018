import type { LogLine } from "../../types.ts";
import { describeThrown } from "./call.ts";
import { defineGlobal } from "./harden.ts";

const LEVELS = ["debug", "log", "info", "warn", "error"] as const;
const MAX_LINES = 100;
const MAX_CHARACTERS = 16 * 1024;

/** Replaces `console` by one that keeps its lines, and gives the function that takes them. */
export function installConsole(): () => LogLine[] {
  let lines: LogLine[] = [];
  let room = MAX_CHARACTERS;
  let full = false;

  function write(level: LogLine["level"], values: unknown[]): void {
    if (full) return;
    const text = values.map(printValue).join(" ");
    full = lines.length === MAX_LINES || text.length > room;
    room -= text.length;
    lines.push(full ? FULL : { level, text });
  }

  const entries = LEVELS.map((level) => [level, (...values: unknown[]) => write(level, values)]);
  defineGlobal("console", Object.fromEntries(entries));

  return function takeLog() {
    const taken = lines;
    lines = [];
    room = MAX_CHARACTERS;
    full = false;
    return taken;
  };
}

const FULL: LogLine = {
  level: "warn",
  text: `The rest of the log was dropped: a call can write ${MAX_LINES} lines and ${MAX_CHARACTERS} characters.`,
};

/** Never throws. */
function printValue(value: unknown): string {
  try {
    if (typeof value === "function") return `[function ${value.name || "(anonymous)"}]`;
    if (typeof value !== "object" || value === null) return String(value);
    if (value instanceof Error) return describeThrown(value).message;
    if (value instanceof Map || value instanceof Set) return `${value.constructor.name} ${JSON.stringify([...value])}`;
    return JSON.stringify(value);
  } catch {
    return `[${typeof value} that cannot be printed]`;
  }
}
