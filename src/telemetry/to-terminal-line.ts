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

/** `12:30:01 INFO  mail watch folder=INBOX state=watching`: for a person, in the time of the place. Ends its line. */
export function toTerminalLine({ level, time, msg, ...fields }: LogRecord): string {
  const texts = Object.entries(fields).map(([name, value]) => ({ name, text: toPrintable(String(value)) }));
  const words = texts.filter(({ text }) => !text.includes("\n")).map(toField);
  const blocks = texts.filter(({ text }) => text.includes("\n")).map(({ text }) => indent(text));
  const clock = paint("dim", new Date(time).toTimeString().slice(0, 8));
  const label = paint(COLOURS[level], level.toUpperCase().padEnd(5));
  return `${[clock, label, toPrintable(msg), ...words].join(" ")}\n${blocks.join("")}`;
}

function toField({ name, text }: { name: string; text: string }): string {
  return paint("dim", `${name}=`) + (/^[^\s"=]+$/.test(text) ? text : JSON.stringify(text));
}

/** Under its line, where nothing in it can pass for another. */
function indent(text: string): string {
  return text
    .split("\n")
    .map((line) => `    ${line}\n`)
    .join("");
}

function paint(colour: "dim" | (typeof COLOURS)[LogRecord["level"]], text: string): string {
  return styleText(colour, text, { stream: process.stderr });
}
