import path from "node:path";
import type { Readable, Writable } from "node:stream";
import { stripVTControlCharacters, styleText } from "node:util";
import { PROGRAM } from "../core/shared/text/command.ts";
import { toPrintable } from "../core/telemetry/log.ts";
import { COMMAND_NAMES } from "./command-list.ts";
import type { Pool } from "../core/transforms/sandbox/pool.ts";

/** All that a command uses of the process it runs in. `webhooks.ts` makes it from the real one, tests make their own. */
export interface CliIo {
  /** Where the person is: relative paths on the command line start here. */
  cwd: string;
  env: NodeJS.ProcessEnv;
  /** The file whose variables `env` has, and the environment without them. A service reads the file at each reload. */
  envFile?: { file: string; env: NodeJS.ProcessEnv };
  stdin: Readable & { isTTY?: boolean; setRawMode?(isRaw: boolean): unknown };
  stdout: CliOutput;
  stderr: CliOutput;
  /** A command that fails without an error to show sets it; see `EXIT_CODES`. */
  exitCode: number;
  /** After this call, SIGTERM and SIGINT abort the signal instead of ending the process; one more ends it at once. */
  stopSignal(): AbortSignal;
  /** `listener` is called for each SIGHUP, also for one that came before. Without a terminal, nothing else happens then. */
  onHangup?(listener: () => void): void;
  /** Has the effect of a Ctrl-C, which a terminal in raw mode sends as a character. */
  interrupt(): void;
  /** After this call the command goes on when nobody reads its output any more. Until then it ends, with exit code 0. */
  finishUnread(): void;
  /** The processes of the sandbox. Default: each command starts its own. */
  pool?: Pool;
}

type CliOutput = Writable & { isTTY?: boolean; columns?: number; hasColors?(env: object): boolean };

/** Writes lines to standard output, for the person or the program that asked. */
export function print(io: CliIo, ...lines: string[]): void {
  write(
    io,
    io.stdout,
    lines.map((line) => nameCommands(io, line)),
  );
}

export function printError(io: CliIo, ...lines: string[]): void {
  write(
    io,
    io.stderr,
    lines.map((line) => nameCommands(io, line)),
  );
}

/** How the person calls this program. `npx webhooks` may be somebody else's package. */
export function commandName({ env }: Pick<CliIo, "env">): string {
  if (env["npm_command"] === "exec") return PROGRAM;
  return /^(?:webhooks|demo)$/.test(env["npm_lifecycle_event"] ?? "") ? "npm run -s webhooks --" : "webhooks";
}

/** A color may come before it: `[2m`. */
const COMMAND = new RegExp(
  String.raw`(?<=^|[^\w/.-]|\[\d+m)${PROGRAM} (?=(?:${COMMAND_NAMES.join("|")})\b|\[|--)`,
  "g",
);

/**
 * A text with its commands as the person can type them. Every text writes them as `npx hookline serve`, and has its
 * values from `toCommand`; all output but JSON goes through here.
 */
export function nameCommands({ env }: Pick<CliIo, "env">, text: string): string {
  const name = commandName({ env });
  return name === PROGRAM ? text : text.replaceAll(COMMAND, `${name} `);
}

export function printJson(io: CliIo, value: unknown): void {
  write(io, io.stdout, [JSON.stringify(value, undefined, 2)]);
}

/** Warnings let the command go on. */
export function printWarnings(io: CliIo, warnings: string[]): void {
  printError(io, ...warnings.map((warning) => `warning: ${toPrintable(warning)}`));
}

/** For programs that read line by line. */
export function printJsonLine(io: CliIo, value: unknown): void {
  write(io, io.stdout, [JSON.stringify(value)]);
}

/** Files by their paths from where the person is, a line each. */
export function listFiles({ cwd }: CliIo, files: string[]): string[] {
  return files.map((file) => `  ${path.relative(cwd, file)}`);
}

/** Moves the cursor to the top, and removes what is below it. */
export function clearScreen({ stdout }: CliIo): void {
  stdout.write("\u001b[1;1H\u001b[0J");
}

/**
 * Pieces joined by a separator, in lines of at most the terminal's width: a terminal would break a longer one within a word.
 * Colors do not count.
 */
export function wrap({ stdout }: Pick<CliIo, "stdout">, pieces: string[], separator: string, indent = ""): string[] {
  const width = stdout.columns ?? Infinity;
  const lines: string[] = [];
  for (const piece of pieces) {
    const last = lines.at(-1);
    const longer = `${last}${separator}${piece}`;
    if (last !== undefined && stripVTControlCharacters(longer).length <= width) lines[lines.length - 1] = longer;
    else lines.push(last === undefined ? piece : `${indent}${piece}`);
  }
  return lines;
}

/** A line that is broken between words where it is too long for the terminal; the unit of a time, a dot and a dash stay. */
export function wrapWords(io: Pick<CliIo, "stdout" | "env">, line: string, indent: string): string[] {
  const [start = ""] = /^ */.exec(line) ?? [];
  const [first = "", ...rest] = nameCommands(io, line.slice(start.length)).split(/ (?! |m?s\b|[·–])/);
  return wrap(io, [start + first, ...rest], " ", indent);
}

/** A text whose numbered steps are broken between words. Other lines may be commands to copy. */
export function wrapSteps(io: Pick<CliIo, "stdout" | "env">, text: string): string[] {
  return text.split("\n").flatMap((line) => (/^\d+\. /.test(line) ? wrapWords(io, line, "   ") : [line]));
}

/** Text in a color, which `print` removes again where the output shows none. */
export function style(format: Parameters<typeof styleText>[0], text: string): string {
  return styleText(format, text, { validateStream: false });
}

export function hasColors(output: CliOutput, env: NodeJS.ProcessEnv): boolean {
  if (env["NO_COLOR"] || env["FORCE_COLOR"] === "0") return false;
  return Boolean(env["FORCE_COLOR"]) || (output.hasColors?.(env) ?? false);
}

function write(io: CliIo, output: CliOutput, lines: string[]): void {
  const text = lines.map((line) => `${line}\n`).join("");
  if (text !== "") output.write(hasColors(output, io.env) ? text : stripVTControlCharacters(text));
}
