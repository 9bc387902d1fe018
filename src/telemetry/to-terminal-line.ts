import { styleText } from "node:util";
import { toPrintable } from "./to-printable.ts";

/** A line of the log before it is written. */
export interface LogRecord {
  level: "debug" | "info" | "warn" | "error";
  /** ISO 8601. */
  time: string;
  msg: string;
  [field: string]: unknown;
}

const COLOURS = { debug: "dim", info: "green", warn: "yellow", error: "red" } as const;

/**
 * `12:30:01 INFO  mail watch folder=INBOX state=watching`: for a person, in the time of the place. Texts of several lines, or
 * with quotes, stand below. Ends its line.
 */
export function toTerminalLine({ level, time, msg, ...fields }: LogRecord): string {
  const texts = Object.entries(fields).map(([name, value]) => ({ name, text: toPrintable(String(value)) }));
  const words = texts.filter(({ text }) => !isBlock(text)).map(toWord);
  const blocks = texts.filter(({ text }) => isBlock(text)).map(({ text }) => indent(text));
  const clock = paint("dim", new Date(time).toTimeString().slice(0, 8));
  const label = paint(COLOURS[level], level.toUpperCase().padEnd(5));
  return `${[clock, label, toPrintable(msg), ...words].join(" ")}\n${blocks.join("")}`;
}

function isBlock(text: string): boolean {
  return /["\n]/.test(text);
}

function toWord({ name, text }: { name: string; text: string }): string {
  return paint("dim", `${name}=`) + (/^[^\s=]+$/.test(text) ? text : `"${text}"`);
}

/** Nothing in it can pass for a line of the log's own. */
function indent(text: string): string {
  return text
    .split("\n")
    .map((line) => `    ${line}\n`)
    .join("");
}

function paint(colour: "dim" | (typeof COLOURS)[LogRecord["level"]], text: string): string {
  return styleText(colour, text, { stream: process.stderr });
}
