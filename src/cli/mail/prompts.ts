import path from "node:path";
import { text } from "node:stream/consumers";
import { ConfigError } from "../../errors.ts";
import { isReference, type NamedSecret, nameSecret, type SecretPlace, type Target } from "../../mail/setup/plan.ts";
import type { SetupFlags } from "./flags.ts";

type TextFlag = {
  [Flag in keyof SetupFlags]-?: NonNullable<SetupFlags[Flag]> extends string ? Flag : never;
}[keyof SetupFlags];

/** A question that takes a line of text. */
interface TextQuestion {
  flag: TextFlag;
  message: string;
  /** What holds where nothing else is said. */
  initial?: string;
  /** May be left empty. */
  optional?: true;
  /** What is wrong with an answer; undefined: nothing. */
  check?(answer: string): string | undefined;
}

export interface Choice<Value extends string> {
  value: Value;
  label: string;
  hint?: string;
}

interface ChoiceQuestion<Value extends string> {
  flag: TextFlag;
  message: string;
  choices: Choice<Value>[];
  initial?: Value;
}

/** A person at a terminal. Each call rejects with `Cancelled` where they want no more. */
export interface Person {
  text(question: Omit<TextQuestion, "flag">): Promise<string>;
  choose<Value extends string>(question: Omit<ChoiceQuestion<Value>, "flag">): Promise<Value>;
  several(question: { message: string; choices: string[]; initial: string[] }): Promise<string[]>;
  secret(message: string): Promise<string>;
  confirm(message: string): Promise<boolean>;
  note(text: string): void;
  /** Something to be copied: as it is, without a frame. */
  show(text: string): void;
  warn(text: string): void;
  /** Shows that something takes its time. */
  during<Result>(message: string, work: () => Promise<Result>): Promise<Result>;
}

/** Takes answers from the flags, else from the person, else what holds by default. */
export interface Asker {
  flags: SetupFlags;
  /** undefined: nobody is there to be asked. */
  person: Person | undefined;
  text(question: TextQuestion): Promise<string>;
  choose<Value extends string>(question: ChoiceQuestion<Value>): Promise<Value>;
  during: Person["during"];
}

/** An answer that is missing where nobody can be asked. */
export class MissingAnswer extends Error {
  override name = "MissingAnswer";

  constructor(flags: string, message: string) {
    super(`${flags} is missing: ${message}`);
  }
}

/** The person wants no more. */
export class Cancelled extends Error {
  override name = "Cancelled";
}

export function createAsker(flags: SetupFlags, person: Person | undefined): Asker {
  return {
    flags,
    person,
    async text(question) {
      const given = flags[question.flag];
      if (given !== undefined) return requireGood(given, question);
      if (person) return person.text(question);
      if (question.initial !== undefined || question.optional) return requireGood(question.initial ?? "", question);
      throw unanswered(question.flag, question.message);
    },
    async choose({ flag, message, choices, initial }) {
      const given = flags[flag];
      const chosen = choices.find(({ value }) => value === given);
      if (chosen) return chosen.value;
      const values = choices.map(({ value }) => value).join(", ");
      if (given !== undefined) throw badAnswer(flag, `expected one of ${values}`);
      if (person) return person.choose({ message, choices, initial });
      if (initial !== undefined) return initial;
      throw unanswered(flag, `${message} (${values})`);
    },
    during: (message, work) => (person ? person.during(message, work) : work()),
  };
}

/** `passwordEnv` → `--password-env` */
export function toFlag(name: keyof SetupFlags): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

function requireGood(answer: string, { flag, check, optional }: TextQuestion): string {
  if (optional && answer === "") return answer;
  const wrong = check?.(answer) ?? (answer.trim() === "" ? "it must not be empty" : undefined);
  if (wrong === undefined) return answer;
  throw badAnswer(flag, wrong);
}

function unanswered(flag: keyof SetupFlags, question: string): MissingAnswer {
  return new MissingAnswer(toFlag(flag), `without a terminal nobody can be asked “${question}”`);
}

function badAnswer(flag: keyof SetupFlags, wrong: string): ConfigError {
  return new ConfigError([{ message: `${toFlag(flag)}: ${wrong}` }]);
}

export interface SecretQuestion {
  flag: "password" | "oauthClientSecret" | "oauthRefreshToken";
  /** `Password` */
  title: string;
  /** Name of the file in the state folder that it is kept in where it is known as text. */
  fileName: string;
  /** What the configuration says now. */
  current: unknown;
}

/** Asks where a secret is. One that is typed, piped, or stands in clear now, gets a file of its own. */
export async function askSecret(asker: Asker, question: SecretQuestion, target: Target): Promise<NamedSecret> {
  const ownFile = path.join(target.stateDir, question.fileName);
  const place = await findPlace(asker, question);
  if (place === undefined) return { reference: String(question.current) };
  return nameSecret(place, { baseDir: path.dirname(target.file), ownFile });
}

/** undefined: where it is now. */
async function findPlace(asker: Asker, question: SecretQuestion): Promise<SecretPlace | undefined> {
  const given = await readFlags(asker, question);
  if (given) return given;
  if (asker.person) return askPlace(asker, asker.person, question);
  if (isReference(question.current)) return undefined;
  if (typeof question.current === "string") return { kind: "text", text: question.current };
  const flags = (["Env", "File", "Stdin"] as const).map((end) => toFlag(`${question.flag}${end}`));
  throw new MissingAnswer(flags.join(", or "), `where the ${question.title.toLowerCase()} is`);
}

async function readFlags({ flags }: Asker, { flag, title }: SecretQuestion): Promise<SecretPlace | undefined> {
  const name = flags[`${flag}Env`];
  const file = flags[`${flag}File`];
  if (name !== undefined) return { kind: "env", name };
  if (file !== undefined) return { kind: "file", file: path.resolve(workingFolder(), file) };
  return flags[`${flag}Stdin`] ? { kind: "text", text: await readStandardInput(title) } : undefined;
}

async function readStandardInput(title: string): Promise<string> {
  const piped = (await text(process.stdin)).replace(/\r?\n$/, "");
  if (piped !== "") return piped;
  throw new ConfigError([{ message: `${title}: standard input is empty` }]);
}

async function askPlace(
  asker: Asker,
  person: NonNullable<Asker["person"]>,
  { flag, title, current }: SecretQuestion,
): Promise<SecretPlace | undefined> {
  const choices: Choice<SecretPlace["kind"] | "current">[] = [
    { value: "text", label: "I type it here", hint: "kept in a file for your user alone" },
    { value: "env", label: "In an environment variable" },
    { value: "file", label: "In a file" },
  ];
  if (isReference(current)) choices.unshift({ value: "current", label: "Where it is now", hint: current });
  const kind = await person.choose({ message: `${title}: where is it?`, choices });
  if (kind === "current") return undefined;
  if (kind === "text") return { kind, text: await person.secret(`${title} (it is not shown)`) };
  if (kind === "env") return { kind, name: await asker.text({ flag: `${flag}Env`, message: "Its name" }) };
  const file = await asker.text({ flag: `${flag}File`, message: "The file" });
  return { kind, file: path.resolve(workingFolder(), file) };
}

function workingFolder(): string {
  return process.env["INIT_CWD"] ?? process.cwd();
}
