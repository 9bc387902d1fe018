import { styleText } from "node:util";
import { type DestinationStream, pino } from "pino";

type Level = "debug" | "info" | "warn" | "error";
export type LogLevel = Level | "silent";

/** Names, ids and sizes. Above level debug nothing of a payload or a header. */
export type LogFields = Record<string, string | number | boolean | undefined>;

/** The service's own log: `log.info("event accepted", { eventId, hook })`. */
export type Log = { [L in Level]: (message: string, fields?: LogFields) => void };

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

export interface LogOutput {
  write(text: string): unknown;
  isTTY?: boolean;
}

/** Writes to standard error, because standard output is for results: JSON lines, or readable lines for a terminal. */
export function createLog(level: LogLevel, output: LogOutput = process.stderr): Log {
  const logger = pino(
    { level, base: undefined, timestamp: pino.stdTimeFunctions.isoTime },
    output.isTTY ? createTerminal(output) : output === process.stderr ? pino.destination(2) : output,
  );
  const write =
    (name: Level) =>
    (message: string, fields: LogFields = {}): void =>
      logger[name](fields, message);
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}

function createTerminal(output: LogOutput): DestinationStream {
  return {
    write(json) {
      const { level, ...rest } = JSON.parse(json);
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

const COLOURS = { debug: "dim", info: "green", warn: "yellow", error: "red" } as const;

/** `12:30:01 INFO  mail watch folder=INBOX state=watching` in local time. Texts with quotes or line breaks are below it. */
export function toTerminalLine({ level, time, msg, ...fields }: LogRecord): string {
  const clock = paint("dim", new Date(time).toTimeString().slice(0, 8));
  let line = `${clock} ${paint(COLOURS[level], level.toUpperCase().padEnd(5))} ${toPrintable(msg)}`;
  let blocks = "";
  for (const [name, value] of Object.entries(fields)) {
    const text = toPrintable(String(value));
    // Indented, a text cannot look like a line of the log.
    if (/["\n]/.test(text)) blocks += `${text.replace(/^/gm, "    ")}\n`;
    else line += ` ${paint("dim", `${name}=`)}${/^[^\s=]+$/.test(text) ? text : `"${text}"`}`;
  }
  return `${line}\n${blocks}`;
}

function paint(colour: (typeof COLOURS)[Level], text: string): string {
  return styleText(colour, text, { stream: process.stderr });
}

const CONTROL = /[[\p{Cc}\p{Bidi_Control}]--[\n\t]]/gv;

/** Untrusted text for a terminal: control characters, which could rewrite the screen, are escaped. */
export function toPrintable(text: string): string {
  return text.replace(CONTROL, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
