import { UsageError } from "../command.ts";
import type { Target } from "../../config/edit/plan.ts";
import type { WrittenMailbox } from "../../mail/setup/plan.ts";
import type { CliIo } from "../io.ts";
import { type ChoicePrompt, MissingAnswer, type Terminal, type TextPrompt } from "../terminal.ts";
import { type SetupFlags, type TextFlag, toFlag } from "./flags.ts";

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
