import { Command, CommanderError, Help, InvalidArgumentError, Option } from "commander";
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { getSystemErrorMessage } from "node:util";
import { withEnvFile } from "../core/config/env-file.ts";
import { ConfigError, HookError, MailError, messageOf, toSentence } from "../core/errors.ts";
import { withoutTemporary } from "../core/shared/system/files.ts";
import { packageVersion } from "../core/shared/system/package.ts";
import { PROGRAM } from "../core/shared/text/command.ts";
import { parseSince } from "../core/shared/time.ts";
import { addExamples, allCommands, isReading, leafCommands, nameOf } from "./command-list.ts";
import { type CliIo, commandName, hasColors, nameCommands, printError, printJsonLine } from "./io.ts";

/** The options of many commands, which help shows after a command's own, in this order. */
const SHARED = ["--yes", "--dry-run", "--config", "--env-file", "--no-env-file", "--url", "--json", "--help"];

/** `webhooks` with these commands. It writes to `io`, and throws instead of ending the process. */
export function createWebhooks(io: CliIo, commands: readonly ((program: Command, io: CliIo) => void)[]): Command {
  const program = new Command(commandName(io))
    .description("Receive webhooks, map them to agent turns, and run these durably.")
    .version(packageVersion(), "-v, --version")
    .addHelpText(
      "after",
      "\nExit codes: 0 done · 1 failed, or found a problem · 2 wrong command line, or an answer is missing · 3 no service answers",
    )
    .configureHelp({
      visibleOptions: (command) =>
        new Help().visibleOptions(command).toSorted((a, b) => SHARED.indexOf(a.long!) - SHARED.indexOf(b.long!)),
      // Before lines are broken.
      commandDescription: (command) => nameCommands(io, Help.prototype.commandDescription(command)),
      subcommandDescription: (command) => nameCommands(io, Help.prototype.subcommandDescription(command)),
      // An option that is off, or a list that is empty, needs no words.
      optionDescription: (option) =>
        nameCommands(io, Help.prototype.optionDescription(option)).replace(/ \(default: (?:false|\{\}|\[\])\)$/, ""),
    })
    .hook("preAction", (_, command) => {
      if (!isReading(command)) io.finishUnread();
      readEnvFile(command, io);
    })
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(nameCommands(io, text)),
      writeErr: (text) => io.stderr.write(nameCommands(io, text)),
      outputError: (text, write) => write(withHint(withoutSecret(text))),
      getOutHelpWidth: () => io.stdout.columns ?? 80,
      getErrHelpWidth: () => io.stderr.columns ?? 80,
      getOutHasColors: () => hasColors(io.stdout, io.env),
      getErrHasColors: () => hasColors(io.stderr, io.env),
    });
  for (const addCommand of commands) addCommand(program, io);
  for (const command of [program, ...allCommands(program)]) command.showHelpAfterError(seeHelp(command));
  addEnvFile(program);
  addExamples(program);
  return program;
}

/** Every command that reads the configuration takes its variables from a file too. */
function addEnvFile(program: Command): void {
  const help = "file with environment variables, which the real ones override (default: .env beside the configuration)";
  for (const command of leafCommands(program)) {
    if (!takesConfig(command)) continue;
    command.option("--env-file <file>", help).option("--no-env-file", "read no such file");
  }
}

function takesConfig({ options }: Command): boolean {
  return options.some(({ long }) => long === "--config");
}

/** The one that creates a missing file. */
const CREATES_ENV_FILE = "presets enable";

function readEnvFile(command: Command, io: CliIo): void {
  if (!takesConfig(command)) return;
  const { config, envFile }: { config?: string; envFile?: string | false } = command.opts();
  if (envFile === false) return;
  const file = locateEnvFile({ config, envFile }, io);
  io.envFile = { file, env: io.env };
  const isOptional = envFile === undefined || nameOf(command) === CREATES_ENV_FILE;
  if (!isOptional || existsSync(file)) io.env = withEnvFile(io.env, file);
}

/** The file with environment variables, absolute. Default: `.env` beside the configuration. */
export function locateEnvFile(
  { config, envFile }: { config?: string | undefined; envFile?: string | false | undefined },
  { cwd, env }: Pick<CliIo, "cwd" | "env">,
): string {
  if (typeof envFile === "string") return resolve(cwd, envFile);
  const named = config ?? env["WEBHOOKS_CONFIG"];
  return join(named ? dirname(resolve(cwd, named)) : cwd, ".env");
}

/** `See `npx hookline serve --help`.` */
function seeHelp(command: Command): string {
  const name = command.parent ? `${nameOf(command)} ` : "";
  return `See \`${PROGRAM} ${name}--help\`.`;
}

/** Names that people use for commands that have another name here. */
const OTHER_NAMES: Record<string, string> = {
  logs: "tail",
  log: "tail",
  start: "serve",
  run: "serve",
  up: "serve",
  validate: "check",
  lint: "check",
  list: "events list",
  help: "--help",
};

/** An address or a pair can hold a password, and output is kept in logs. */
function withoutSecret(text: string): string {
  return text.replace(/(option '--(?:to|url|header|query|with) [^']*') argument '.*' is invalid\./s, "$1:");
}

/** A name that only looks similar is replaced. */
function withHint(text: string): string {
  const [, name = ""] = /unknown command '(\w+)'/.exec(text) ?? [];
  if (!Object.hasOwn(OTHER_NAMES, name)) return text;
  return `${text.split("\n")[0]}\n(Did you mean ${OTHER_NAMES[name]}?)\n`;
}

export const EXIT_CODES = {
  /** The command did its work and found no problem. */
  done: 0,
  /** The command failed, or found what it looks for: a problem, a refused request, a sample that differs. */
  failed: 1,
  /** The command line is wrong, or a question has no answer. */
  usage: 2,
  unreachable: 3,
} as const;

/** The command line is wrong in a way that only the command itself can tell. */
export class UsageError extends Error {
  override name = "UsageError";
  /** For programs. */
  readonly code: string = "usage";
}

/** The person has ended a question. */
export class Canceled extends Error {
  override name = "Canceled";
  override message = "Canceled.";
}

export class Unreachable extends ConfigError {
  override name = "Unreachable";
}

/** Writes an error, unless commander has, and gives its exit code. Commander also throws after it has written help. */
export function reportError(io: CliIo, error: unknown, json = false): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return EXIT_CODES.done;
    if (json) printJsonLine(io, { ok: false, error: describeUsage(error), code: "usage" });
    return EXIT_CODES.usage;
  }
  // A program that reads the output gets an answer that it can read; a person sees the same sentence.
  const { code, exitCode } = classifyError(error);
  if (json) printJsonLine(io, { ok: false, error: describeError(error), code });
  printError(io, describeError(error));
  return exitCode;
}

/** Commander's own error text, without the word in front; of the help nothing. */
function describeUsage({ code, message }: CommanderError): string {
  if (code === "commander.help") return "A command is missing. See `npx hookline --help`.";
  return withHint(withoutSecret(message))
    .replace(/^error: /, "")
    .trim();
}

const MAIL_CODES: Record<MailError["kind"], string> = {
  login: "login_refused",
  network: "network",
  tls: "tls_failed",
  gone: "mailbox_gone",
};

/** `code` is for programs that read the output. */
export function classifyError(error: unknown): { code: string; exitCode: number } {
  if (error instanceof UsageError) return { code: error.code, exitCode: EXIT_CODES.usage };
  if (error instanceof Unreachable) return { code: "unreachable", exitCode: EXIT_CODES.unreachable };
  const exitCode = EXIT_CODES.failed;
  if (error instanceof Canceled) return { code: "canceled", exitCode };
  if (error instanceof MailError) return { code: MAIL_CODES[error.kind], exitCode };
  return { code: error instanceof ConfigError ? "config" : "fault", exitCode };
}

/** An error as the terminal shows it: what the operator has to fix line by line, anything unexpected with its stack. */
export function describeError(error: unknown): string {
  if (error instanceof ConfigError) {
    return error.problems
      .map((problem) => [toSentence(problem), problem.excerpt].filter(Boolean).join("\n"))
      .join("\n");
  }
  if (error instanceof UsageError) return error.message;
  if (error instanceof HookError) return `${error.status} ${error.code}: ${error.message}`;
  if (isFileError(error)) return `${withoutTemporary(error.path)}: ${describeSystemError(error)}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

export function isFileError(error: unknown): error is { path: string } {
  const { errno, path } = Object(error);
  return typeof errno === "number" && typeof path === "string";
}

/** The system's text of an error, without Node's words: `no such file or directory`. */
export function describeSystemError(error: unknown): string {
  const { errno } = Object(error);
  return typeof errno === "number" ? getSystemErrorMessage(errno) : messageOf(error);
}

export const PART_HELP =
  "the part that gets a new entry, of those that include names (default: the configuration itself)";

export const CONFIG_HELP =
  "configuration file (default: $WEBHOOKS_CONFIG, else webhooks.json5, .jsonc, .yaml or .json here)";

export const PRESET_HELP = "name of the preset, or its folder, as ./presets/acme";

export interface ConfigFlags {
  config?: string;
  json: boolean;
}

export function addConfigOptions(command: Command, json = "print one JSON object", config = CONFIG_HELP): Command {
  return command.option("--config <file>", config).option("--json", json, false);
}

export interface ServiceFlags extends ConfigFlags {
  /** Default: from `gateway.host` and `gateway.port`. */
  url?: string;
}

export function addServiceOptions(command: Command, json = "print JSON"): Command {
  const help = "address of the service (default: http://<gateway.host>:<gateway.port>)";
  return addConfigOptions(command, json).option("--url <address>", help, toAddress);
}

export interface WriteFlags extends ConfigFlags {
  yes: boolean;
  dryRun: boolean;
}

export function addWriteOptions(command: Command, config = CONFIG_HELP): Command {
  return addConfigOptions(command, "no questions; print one JSON object", config)
    .option("--yes", "write without asking", false)
    .option("--dry-run", "show the change and write nothing", false);
}

export type ListFlags = ServiceFlags & { limit: number };

export function addListOptions(command: Command): Command {
  return addServiceOptions(command).option("--limit <number>", "at most this many", toCount, 50);
}

export function toPort(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new InvalidArgumentError("A port is a whole number from 0 to 65535.");
}

export function toCount(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1) return count;
  throw new InvalidArgumentError("Expected a whole number of at least 1.");
}

export function toOneOf<Choice extends string>(choices: readonly Choice[]) {
  return (text: string): Choice => {
    const choice = choices.find((known) => known === text);
    if (choice !== undefined) return choice;
    throw new InvalidArgumentError(`Expected ${choices.join(" or ")}.`);
  };
}

export function toDigits(text: string): string {
  if (/^\d+$/.test(text)) return text;
  throw new InvalidArgumentError("Expected a number.");
}

/** `1h` is an hour before now, anything else a date; in ISO 8601. */
export function toTime(text: string): string {
  const time = new Date(parseSince(text));
  if (!Number.isNaN(time.getTime())) return time.toISOString();
  throw new InvalidArgumentError("Expected a duration before now, as 90m or 7d, or a date, as 2026-11-20T10:00:00Z.");
}

/** `--since <time>`, with its time in ISO 8601. */
export function createSince(description: string, byDefault?: string): Option {
  const option = new Option("--since <time>", description).argParser(toTime);
  return byDefault === undefined ? option : option.default(toTime(byDefault), byDefault);
}

/** `name=value`, for a header `name:value` too, added to the earlier ones. */
export function addPair(separator: ":" | "=") {
  return (text: string, pairs: Record<string, string>): Record<string, string> => {
    const at = text.search(separator === ":" ? /[:=]/ : "=");
    if (at < 1) throw new InvalidArgumentError(`Expected <name>${separator}<value>.`);
    return { ...pairs, [text.slice(0, at).trim()]: text.slice(at + 1).trim() };
  };
}

/** An option that may be repeated. */
export function addItem(text: string, items: string[] = []): string[] {
  return [...items, text];
}

export function toDatabaseUrl(text: string): string {
  const { protocol, hostname, pathname } = URL.parse(text) ?? { protocol: "", hostname: "", pathname: "" };
  if (/^postgres(ql)?:$/.test(protocol) && hostname !== "" && pathname.length > 1) return text;
  throw new InvalidArgumentError("Expected a URL such as postgres://hookline@db.example.com/hookline.");
}

/** Without a slash at its end, since paths are appended. */
function toAddress(text: string): string {
  const { protocol, username } = URL.parse(text) ?? { protocol: "", username: "" };
  if (/^https?:$/.test(protocol) && username === "") return text.replace(/\/+$/, "");
  throw new InvalidArgumentError("Expected an address such as http://127.0.0.1:18790.");
}
