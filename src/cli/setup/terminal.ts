import type * as Clack from "@clack/prompts";
import { loadAtFirstUse } from "../../core/shared/system/package.ts";
import { toPrintable } from "../../core/telemetry/log.ts";
import { Canceled, UsageError } from "../command.ts";
import { type CliIo, print } from "../io.ts";

const clack = loadAtFirstUse<typeof Clack>("@clack/prompts");

export interface TextPrompt {
  message: string;
  initial?: string;
  optional?: true;
  /** The mistake in an answer; undefined: none. */
  check?(answer: string): string | undefined;
}

export interface ChoicePrompt<Value extends string> {
  message: string;
  choices: Choice<Value>[];
  initial?: Value;
}

export interface Choice<Value extends string> {
  value: Value;
  label: string;
  hint?: string;
}

/** A terminal with a person at it. Each prompt rejects with `Canceled` on Ctrl-C. */
export interface Terminal {
  text(prompt: TextPrompt): Promise<string>;
  choose<Value extends string>(prompt: ChoicePrompt<Value>): Promise<Value>;
  chooseSeveral(prompt: { message: string; choices: string[]; initial: string[] }): Promise<string[]>;
  secret(message: string): Promise<string>;
  confirm(message: string): Promise<boolean>;
  note(text: string): void;
  /** Prints text without a frame, so that it can be copied. */
  show(text: string): void;
  warn(text: string): void;
  withSpinner<Result>(message: string, work: () => Promise<Result>): Promise<Result>;
}

/** A question without an answer, and without a terminal to ask it. */
export class MissingAnswer extends UsageError {
  override name = "MissingAnswer";
  override readonly code = "missing_answer";

  constructor(flags: string, message: string) {
    super(`${flags} is missing: ${message}`);
  }
}

/** A longer list is searched by typing. */
const MAX_SELECT = 12;

export function createTerminal(io: CliIo): Terminal {
  const { autocomplete, confirm, log, multiselect, note, password, select, spinner, text } = clack();
  const streams = { input: io.stdin, output: io.stdout };
  return {
    async text({ message, initial, optional, check }) {
      const validate = (given = ""): string | undefined =>
        optional && given === "" ? undefined : (check?.(given) ?? requireText(given));
      return requireAnswer(await text({ ...streams, message, initialValue: initial, validate }));
    },
    async choose({ message, choices, initial }) {
      const initialValue = Math.max(
        choices.findIndex(({ value }) => value === initial),
        0,
      );
      // By index, since the library's types do not accept a generic value.
      const options = choices.map(({ label, hint }, index) => ({ value: index, label, hint }));
      // In a long list, a person types a part of the name.
      const index = requireAnswer(
        options.length > MAX_SELECT
          ? await autocomplete({ ...streams, message, options, initialValue, maxItems: MAX_SELECT })
          : await select({ ...streams, message, options, initialValue }),
      );
      const chosen = choices[index];
      if (!chosen) throw new Canceled();
      return chosen.value;
    },
    async chooseSeveral({ message, choices, initial }) {
      const options = choices.map((value) => ({ value, label: toPrintable(value) }));
      return requireAnswer(await multiselect({ ...streams, message, options, initialValues: initial, required: true }));
    },
    async secret(message) {
      return requireAnswer(await password({ ...streams, message, validate: requireText }));
    },
    async confirm(message) {
      return requireAnswer(await confirm({ ...streams, message }));
    },
    note: (shown) => note(toPrintable(shown), undefined, streams),
    show: (shown) => print(io, toPrintable(shown)),
    warn: (shown) => log.warn(toPrintable(shown), streams),
    async withSpinner(message, work) {
      const busy = spinner(streams);
      busy.start(message);
      try {
        const result = await work();
        busy.stop(message);
        return result;
      } catch (error) {
        busy.error(message);
        throw error;
      }
    },
  };
}

function requireAnswer<Answer>(answer: Answer | typeof Clack.CANCEL_SYMBOL): Answer {
  if (clack().isCancel(answer)) throw new Canceled();
  return answer;
}

function requireText(given = ""): string | undefined {
  return given.trim() === "" ? "An answer is required." : undefined;
}
