import path from "node:path";
import { text as readAll } from "node:stream/consumers";
import { isReference, type Target, toFileReference, toVariableReference } from "../../config/edit/plan.ts";
import type { WrittenMailbox } from "../../mail/setup/plan.ts";
import { UsageError } from "../command.ts";
import type { CliIo } from "../io.ts";
import { type Choice, type ChoicePrompt, MissingAnswer, type Terminal, type TextPrompt } from "../terminal.ts";
import { type SecretFlag, type SetupFlags, type TextFlag, toFlag } from "./flags.ts";

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

/** What all questions about a mailbox share. */
export interface Session {
  prompter: Prompter;
  target: Target;
  mailbox: WrittenMailbox;
  /** Of a mailbox that is added to others. */
  name: string | undefined;
  /** Its source as it is written now, if it is the same mailbox; else empty. */
  current: Record<string, unknown>;
  /** Ends the names of its files, since the other mailboxes have files too. */
  suffix: string;
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
  const { flag, title, current } = question;
  const { terminal } = session.prompter;
  const given = await readSecretFlags(session, question);
  if (given !== undefined) return given;
  if (terminal) return askSecretPlace(session, terminal, question);
  if (isReference(current)) return current;
  if (typeof current === "string") return storeSecret(session, question.fileName, current);
  const flags = (["Env", "File", "Stdin"] as const).map((end) => toFlag(`${flag}${end}`));
  throw new MissingAnswer(flags.join(", or "), `where the ${title.toLowerCase()} is`);
}

/** Plans a file of the state folder for a secret, and returns the reference to it. */
export function storeSecret({ target, suffix, secretFiles }: Session, fileName: string, secret: string): string {
  const file = path.join(target.stateDir, `${fileName}${suffix}`);
  secretFiles.set(file, `${secret}\n`);
  return toFileReference(file, path.dirname(target.file));
}

async function readSecretFlags(
  session: Session,
  { flag, title, fileName }: SecretQuestion,
): Promise<string | undefined> {
  const { flags, io } = session.prompter;
  const name = flags[`${flag}Env`];
  const file = flags[`${flag}File`];
  if (name !== undefined) return toVariableReference(name);
  if (file !== undefined) return referToFile(session, file);
  if (!flags[`${flag}Stdin`]) return undefined;
  const piped = (await readAll(io.stdin)).replace(/\r?\n$/, "");
  if (piped === "") throw new UsageError(`${title}: standard input is empty`);
  return storeSecret(session, fileName, piped);
}

/** `file`: as the person wrote it, relative to the current folder. */
function referToFile({ prompter, target }: Session, file: string): string {
  return toFileReference(path.resolve(prompter.io.cwd, file), path.dirname(target.file));
}

async function askSecretPlace(
  session: Session,
  terminal: Terminal,
  { flag, title, fileName, current }: SecretQuestion,
): Promise<string> {
  const { prompter } = session;
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
    return toVariableReference(await prompter.text({ flag: `${flag}Env`, message: "Name of the variable" }));
  }
  return referToFile(session, await prompter.text({ flag: `${flag}File`, message: "Path of the file" }));
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
