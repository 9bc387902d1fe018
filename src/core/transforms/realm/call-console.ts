import type { LogLine } from "../../types.ts";
import { describeThrown, LOG_FULL, MAX_LOG } from "../sandbox/child-answer.ts";
import { defineGlobal } from "./harden.ts";

const LEVELS = ["debug", "log", "info", "warn", "error"] as const;
/** A limit for `time`, and one for `count`. */
const MAX_LABELS = 100;

/** The log of a call so far. */
export interface CallLog {
  clear(): void;
  read(): LogLine[];
}

/** Replaces `console` by one that keeps its lines until the next call. `now` is the clock of the call, in milliseconds. */
export function installConsole(now: () => number): CallLog {
  let lines: LogLine[] = [];
  let room = MAX_LOG.characters;
  let full = false;
  const starts = new Map<string, number>();
  const counts = new Map<string, number>();

  function write(level: LogLine["level"], values: unknown[]): void {
    if (full) return;
    const text = values.map(printValue).join(" ");
    full = lines.length === MAX_LOG.lines || text.length > room;
    room -= text.length;
    lines.push(full ? LOG_FULL : { level, text });
  }

  function keep(labels: Map<string, number>, label: string, value: number): void {
    if (labels.size < MAX_LABELS || labels.has(label)) labels.set(label, value);
  }

  function writeTime(label: string, values: unknown[]): void {
    const start = starts.get(label);
    if (start === undefined) write("warn", [`No such label '${label}' for console.time()`]);
    else write("log", [`${label}: ${now() - start}ms`, ...values]);
  }

  defineGlobal("console", {
    ...Object.fromEntries(LEVELS.map((level) => [level, (...values: unknown[]) => write(level, values)])),
    dir: (value: unknown) => write("log", [value]),
    dirxml: (...values: unknown[]) => write("log", values),
    table: (rows: unknown) => write("log", [rows]),
    trace: (...values: unknown[]) => write("error", ["Trace:", ...values]),
    assert: (condition: unknown, ...values: unknown[]) =>
      condition ? undefined : write("error", ["Assertion failed", ...values]),
    group: (...values: unknown[]) => (values.length > 0 ? write("log", values) : undefined),
    groupCollapsed: (...values: unknown[]) => (values.length > 0 ? write("log", values) : undefined),
    groupEnd() {},
    clear() {},
    time: (label: unknown = "default") => keep(starts, String(label), now()),
    timeLog: (label: unknown = "default", ...values: unknown[]) => writeTime(String(label), values),
    timeEnd(label: unknown = "default") {
      writeTime(String(label), []);
      starts.delete(String(label));
    },
    count(label: unknown = "default") {
      const count = (counts.get(String(label)) ?? 0) + 1;
      keep(counts, String(label), count);
      write("log", [`${String(label)}: ${count}`]);
    },
    countReset: (label: unknown = "default") => void counts.delete(String(label)),
  });

  return {
    clear() {
      lines = [];
      room = MAX_LOG.characters;
      full = false;
      if (starts.size > 0) starts.clear();
      if (counts.size > 0) counts.clear();
    },
    read: () => lines,
  };
}

/** Never throws. */
function printValue(value: unknown): string {
  try {
    if (typeof value === "function") return `[function ${value.name || "(anonymous)"}]`;
    if (typeof value === "bigint") return `${value}n`;
    if (typeof value !== "object" || value === null) return String(value);
    if (value instanceof Error) return describeThrown(value).message;
    if (value instanceof Map || value instanceof Set) return `${value.constructor.name} ${toPrinted([...value])}`;
    return toPrinted(value);
  } catch {
    return `[${typeof value} that cannot be printed]`;
  }
}

/** JSON alone would refuse bigints, and print Map, Set and errors as {}. */
function toPrinted(value: object): string {
  return JSON.stringify(value, (_, item: unknown) => {
    if (typeof item === "bigint") return `${item}n`;
    if (item instanceof Map || item instanceof Set) return [...item];
    return item instanceof Error ? describeThrown(item).message : item;
  });
}
