import { writeSync } from "node:fs";
import { styleText } from "node:util";
import { type DestinationStream, pino } from "pino";

type Level = "debug" | "info" | "warn" | "error";
export type LogLevel = Level | "silent";

/**
 * Names, ids and sizes. Above level debug nothing of a payload or a header. `step` is the step of a request, or the reload,
 * whose result the line reports.
 */
type LogFields = Record<string, string | number | boolean | undefined>;

/** The service's own log: `log.info("event accepted", { eventId, hook })`. */
export type Log = { [L in Level]: (message: string, fields?: LogFields) => void };

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

interface LogOutput {
  write(text: string): unknown;
  isTTY?: boolean;
}

export interface LogOptions {
  /** Default: standard error, because standard output is for results. */
  output?: LogOutput;
  /** A live view shows the steps. On a terminal, where both are read, the log leaves them out. */
  hasLiveView?: boolean;
}

/** Writes JSON lines, or readable lines for a terminal. */
export function createLog(level: LogLevel, { output = process.stderr, hasLiveView = false }: LogOptions = {}): Log {
  const logger = pino(
    { level, base: undefined, timestamp: pino.stdTimeFunctions.isoTime },
    output.isTTY ? createTerminal(output, hasLiveView) : output === process.stderr ? openStandardError() : output,
  );
  const write =
    (name: Level) =>
    (message: string, fields: LogFields = {}): void =>
      logger[name](fields, message);
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}

/** How many characters of the log wait for a full disk to have space again; later lines are lost. */
const MAX_UNWRITTEN = 16 * 1024 * 1024;

/** A log that cannot be written, to a closed pipe or a full disk, does not end the service, and does not keep it from its end. */
function openStandardError(): DestinationStream {
  const stream = pino.destination({ dest: 2, maxLength: MAX_UNWRITTEN });
  stream.on("error", () => {});
  // Called at the exit. The library's own would try until there is space.
  stream.flushSync = () => {
    const unwritten: string[] = Reflect.get(stream, "_bufs");
    try {
      for (const text of unwritten) writeSync(2, text);
    } catch {
      // The rest of the log is lost.
    }
  };
  return stream;
}

function createTerminal(output: LogOutput, hasLiveView: boolean): DestinationStream {
  return {
    write(json) {
      const { level, ...rest } = JSON.parse(json);
      if (hasLiveView && rest.step !== undefined) return;
      output.write(toTerminalLine({ ...rest, level: pino.levels.labels[level] }));
    },
  };
}

/** A line of the log before it is written. */
export interface LogRecord {
  level: Level;
  /** ISO 8601. */
  time: string;
  msg: string;
  [field: string]: unknown;
}

const COLORS = { debug: "dim", info: "green", warn: "yellow", error: "red" } as const;

/** `12:30:01 INFO  mail watch folder=INBOX state=watching` in local time. Texts with quotes or line breaks are below it. */
export function toTerminalLine({ level, time, msg, ...fields }: LogRecord): string {
  const clock = paint("dim", new Date(time).toTimeString().slice(0, 8));
  let line = `${clock} ${paint(COLORS[level], level.toUpperCase().padEnd(5))} ${toPrintable(msg)}`;
  let blocks = "";
  for (const [name, value] of Object.entries(fields)) {
    const text = toPrintable(String(value));
    // Indented, a text cannot look like a line of the log.
    if (/["\n]/.test(text)) blocks += `${text.replace(/^/gm, "    ")}\n`;
    else line += ` ${paint("dim", `${name}=`)}${/^[^\s=]+$/.test(text) ? text : `"${text}"`}`;
  }
  return `${line}\n${blocks}`;
}

function paint(color: (typeof COLORS)[Level], text: string): string {
  return styleText(color, text, { stream: process.stderr });
}

const CONTROL = /[[\p{Cc}\p{Bidi_Control}]--[\n\t]]/gv;

/** Untrusted text for a terminal: control characters, which could rewrite the screen, are escaped. */
export function toPrintable(text: string): string {
  return text.replace(CONTROL, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
