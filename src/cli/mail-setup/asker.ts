import { ConfigError } from "../../errors.ts";
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
      if (question.initial !== undefined || question.optional)
        return requireGood(question.initial ?? "", question);
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
