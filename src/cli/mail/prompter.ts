import type { Command } from "commander";
import type { Target } from "../../service/authoring/target.ts";
import type { WrittenMailbox } from "./plan-mailbox.ts";
import { addItem, addWriteOptions, CONFIG_HELP, UsageError, type WriteFlags } from "../command.ts";
import type { CliIo } from "../io.ts";
import { type ChoicePrompt, MissingAnswer, type Terminal, type TextPrompt } from "../setup/terminal.ts";

/** Answers a question by its flag, else by the person at the terminal, else by its default. */
export interface Prompter {
  flags: SetupFlags;
  io: CliIo;
  /** undefined: nobody can be asked. */
  terminal: Terminal | undefined;
  text(prompt: TextPrompt & { flag: TextFlag }): Promise<string>;
  choose<Value extends string>(prompt: ChoicePrompt<Value> & { flag: TextFlag }): Promise<Value>;
  withSpinner: Terminal["withSpinner"];
}

export function createPrompter(flags: SetupFlags, io: CliIo, terminal: Terminal | undefined): Prompter {
  return {
    flags,
    io,
    terminal,
    async text(prompt) {
      const given = flags[prompt.flag];
      if (given !== undefined) return requireValid(given, prompt);
      if (terminal) return terminal.text(prompt);
      if (prompt.initial !== undefined || prompt.optional) return requireValid(prompt.initial ?? "", prompt);
      throw cannotAsk(prompt.flag, prompt.message);
    },
    async choose(prompt) {
      const { flag, message, choices, initial } = prompt;
      const given = flags[flag];
      const chosen = choices.find(({ value }) => value === given);
      if (chosen) return chosen.value;
      const values = choices.map(({ value }) => value).join(", ");
      if (given !== undefined) throw invalidFlag(flag, `expected one of ${values}`);
      if (terminal) return terminal.choose(prompt);
      if (initial !== undefined) return initial;
      throw cannotAsk(flag, `${message} (${values})`);
    },
    withSpinner: (message, work) => (terminal ? terminal.withSpinner(message, work) : work()),
  };
}

/** Shared by all questions about a mailbox. */
export interface Session {
  prompter: Prompter;
  target: Target;
  mailbox: WrittenMailbox;
  /** The name of a mailbox that is added to others. */
  name: string | undefined;
  /** Its source as it is written now, if it is the same mailbox; else empty. */
  current: Record<string, unknown>;
  /** Ends the names of its files, since the other mailboxes have files too. */
  suffix: string;
  /** Files for secrets that were typed or piped, by absolute path. */
  secretFiles: Map<string, string>;
}

/** A written text or number as text. */
export function textOf(written: Record<string, unknown>, key: string): string | undefined {
  const value = written[key];
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
}

function requireValid(answer: string, { flag, check, optional }: TextPrompt & { flag: TextFlag }): string {
  if (optional && answer === "") return answer;
  const problem = check?.(answer) ?? (answer.trim() === "" ? "must not be empty" : undefined);
  if (problem !== undefined) throw invalidFlag(flag, problem);
  return answer;
}

function cannotAsk(flag: keyof SetupFlags, question: string): MissingAnswer {
  return new MissingAnswer(toFlag(flag), `cannot prompt for “${question}” without a terminal`);
}

function invalidFlag(flag: keyof SetupFlags, problem: string): UsageError {
  return new UsageError(`${toFlag(flag)}: ${problem}`);
}

/** The answers that a flag can give as text: the placeholder of its value, and the help. */
const TEXT_FLAGS = {
  address: ["<address>", "the mail address"],
  name: ["<name>", "the mailbox's name, if there are several (default for another one: the address)"],
  kind: ["<kind>", "imap, or gmail for Gmail's own API"],
  host: ["<name>", "imap: the server (default: found from the address)"],
  port: ["<number>", "imap: the port"],
  tls: ["<how>", "imap: implicit, starttls, or none for a server on this machine"],
  user: ["<name>", "the login name (default: the address)"],
  login: ["<how>", "imap: password or oauth"],
  oauthTokenUrl: ["<url>", "imap: where access tokens come from"],
  oauthClientId: ["<id>", "the OAuth client"],
  oauthScope: ["<scopes>", "imap: scopes to request, separated by spaces"],
  channel: ["<name>", "messaging channel for replies"],
  to: ["<recipient>", "recipient on the channel"],
  model: ["<name>", "provider/model or an alias"],
  thinking: ["<level>", "low, medium, high"],
  instructions: ["<text>", "your own instructions for the agent"],
} as const;

/** There are no flags for secrets, since other users of the machine can see command lines. */
const SECRET_FLAGS = {
  password: "the password",
  oauthClientSecret: "the OAuth client's secret",
  oauthRefreshToken: "the OAuth refresh token",
} as const;

export type SecretFlag = keyof typeof SECRET_FLAGS;
type TextFlag = keyof typeof TEXT_FLAGS | `${SecretFlag}Env` | `${SecretFlag}File`;

/** The flags of `webhooks mail setup`: one for each question, so that the command also runs without a terminal. */
export type SetupFlags = Partial<Record<TextFlag, string>> &
  Partial<Record<`${SecretFlag}Stdin`, boolean>> &
  WriteFlags & {
    folder?: string[];
    /** False with --no-check. */
    check: boolean;
  };

export function addSetupFlags(command: Command): Command {
  for (const [name, [value, help]] of Object.entries(TEXT_FLAGS)) command.option(`${toFlag(name)} ${value}`, help);
  for (const [name, what] of Object.entries(SECRET_FLAGS)) {
    command
      .option(`${toFlag(name)}-env <NAME>`, `the environment variable that holds ${what}`)
      .option(`${toFlag(name)}-file <file>`, `the file that holds ${what}`)
      .option(`${toFlag(name)}-stdin`, `read ${what} from standard input, and store it in a file of the state folder`);
  }
  return addWriteOptions(command, `${CONFIG_HELP}; created if missing`)
    .option("--folder <name>", "imap: a folder to watch; can be repeated (default: INBOX)", addItem)
    .option("--no-check", "write without a test login");
}

/** `passwordEnv` → `--password-env` */
export function toFlag(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
