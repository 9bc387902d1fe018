import {
  type CANCEL_SYMBOL,
  confirm,
  isCancel,
  log,
  multiselect,
  note,
  password,
  select,
  spinner,
  text,
} from "@clack/prompts";
import { toPrintable } from "../../telemetry/log.ts";
import { Cancelled, type Person } from "./prompts.ts";

/** Asks the person at the terminal. */
export function createTerminal(): Person {
  return {
    async text({ message, initial, optional, check }) {
      const answer = await text({
        message,
        initialValue: initial,
        validate: (given = "") => (optional && given === "" ? undefined : (check?.(given) ?? requireSome(given))),
      });
      return requireAnswer(answer);
    },
    async choose({ message, choices, initial }) {
      const values = choices.map(({ value }) => value);
      // By its place: the library's types do not take a choice among unknown strings.
      const answer = requireAnswer(
        await select({
          message,
          options: choices.map(({ label, hint }, index) => ({ value: index, label, hint })),
          initialValue: initial === undefined ? 0 : Math.max(values.indexOf(initial), 0),
        }),
      );
      const value = values[answer];
      if (value === undefined) throw new Cancelled();
      return value;
    },
    async several({ message, choices, initial }) {
      const options = choices.map((value) => ({ value, label: toPrintable(value) }));
      return requireAnswer(await multiselect({ message, options, initialValues: initial, required: true }));
    },
    async secret(message) {
      return requireAnswer(await password({ message, validate: (given = "") => requireSome(given) }));
    },
    async confirm(message) {
      return requireAnswer(await confirm({ message }));
    },
    note: (shown) => note(toPrintable(shown)),
    show: (shown) => console.log(toPrintable(shown)),
    warn: (shown) => log.warn(toPrintable(shown)),
    async during(message, work) {
      const busy = spinner();
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

function requireAnswer<Answer>(answer: Answer | typeof CANCEL_SYMBOL): Answer {
  if (isCancel(answer)) throw new Cancelled();
  return answer;
}

function requireSome(given: string): string | undefined {
  return given.trim() === "" ? "Please say something." : undefined;
}
