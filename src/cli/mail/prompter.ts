import path from "node:path";
import { text as readAll } from "node:stream/consumers";
import { ConfigError } from "../../errors.ts";
import { isReference, toReference, type SecretPlace, type Target } from "../../mail/setup/index.ts";
import type { CliIo } from "../io.ts";
import type { SecretFlag, SetupFlags } from "./flags.ts";
import type { Choice, ChoicePrompt, Terminal, TextPrompt } from "./terminal.ts";

/** The flags with a single text. */
type TextFlag = {
  [Flag in keyof SetupFlags]-?: NonNullable<SetupFlags[Flag]> extends string ? Flag : never;
}[keyof SetupFlags];

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

/** A question without an answer, and without a terminal to ask it. */
export class MissingAnswer extends Error {
  override name = "MissingAnswer";

  constructor(flags: string, message: string) {
    super(`${flags} is missing: ${message}`);
  }
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

/** What all questions about a mailbox share. */
export interface Session {
  prompter: Prompter;
  target: Target;
  /** `hooks.mail.source` as it is written now, if it is the same mailbox; else empty. */
  current: Record<string, unknown>;
  /** Files for secrets that were typed or piped, by absolute path. */
  secretFiles: Map<string, string>;
}

export interface SecretQuestion {
  flag: SecretFlag;
  /** `Password` */
  title: string;
  /** The file in the state folder for a secret that is typed or piped. */
  fileName: string;
  /** The value in the configuration now. */
  current: unknown;
}

/** Asks where a secret is, and returns a reference to it. A literal secret moves into a file. */
export async function askSecret(session: Session, question: SecretQuestion): Promise<string> {
  const { prompter, target } = session;
  const { flag, title, current } = question;
  const baseDir = path.dirname(target.file);
  const place = await readSecretFlags(prompter, question);
  if (typeof place === "string") return storeSecret(session, question.fileName, place);
  if (place) return toReference(place, baseDir);
  if (prompter.terminal) return askSecretPlace(session, prompter.terminal, question);
  if (isReference(current)) return current;
  if (typeof current === "string") return storeSecret(session, question.fileName, current);
  const flags = (["Env", "File", "Stdin"] as const).map((end) => toFlag(`${flag}${end}`));
  throw new MissingAnswer(flags.join(", or "), `where the ${title.toLowerCase()} is`);
}

/** Plans a file of the state folder for a secret, and returns the reference to it. */
export function storeSecret({ target, secretFiles }: Session, fileName: string, secret: string): string {
  const file = path.join(target.stateDir, fileName);
  secretFiles.set(file, `${secret}\n`);
  return toReference({ kind: "file", file }, path.dirname(target.file));
}

/** A place, or the piped secret itself. */
async function readSecretFlags(
  { flags, io }: Prompter,
  { flag, title }: SecretQuestion,
): Promise<SecretPlace | string | undefined> {
  const name = flags[`${flag}Env`];
  const file = flags[`${flag}File`];
  if (name !== undefined) return { kind: "env", name };
  if (file !== undefined) return { kind: "file", file: path.resolve(io.cwd, file) };
  if (!flags[`${flag}Stdin`]) return undefined;
  const piped = (await readAll(io.stdin)).replace(/\r?\n$/, "");
  if (piped === "") throw new ConfigError([{ message: `${title}: standard input is empty` }]);
  return piped;
}

async function askSecretPlace(
  session: Session,
  terminal: Terminal,
  { flag, title, fileName, current }: SecretQuestion,
): Promise<string> {
  const { prompter, target } = session;
  const baseDir = path.dirname(target.file);
  const choices: Choice<"text" | "env" | "file" | "current">[] = [
    { value: "text", label: "Type it here", hint: "stored in a file that only your user can read" },
    { value: "env", label: "In an environment variable" },
    { value: "file", label: "In a file" },
  ];
  if (isReference(current)) choices.unshift({ value: "current", label: "Where it is now", hint: current });
  const kind = await terminal.choose({ message: `${title}: where is it?`, choices });
  if (kind === "current") return String(current);
  if (kind === "text") return storeSecret(session, fileName, await terminal.secret(`${title} (hidden)`));
  if (kind === "env") {
    const name = await prompter.text({ flag: `${flag}Env`, message: "Name of the variable" });
    return toReference({ kind, name }, baseDir);
  }
  const file = await prompter.text({ flag: `${flag}File`, message: "Path of the file" });
  return toReference({ kind, file: path.resolve(prompter.io.cwd, file) }, baseDir);
}

/** A written text or number as text. */
export function textOf(written: Record<string, unknown>, key: string): string | undefined {
  const value = written[key];
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
}

/** `passwordEnv` → `--password-env` */
export function toFlag(name: keyof SetupFlags): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
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

function invalidFlag(flag: keyof SetupFlags, problem: string): ConfigError {
  return new ConfigError([{ message: `${toFlag(flag)}: ${problem}` }]);
}
