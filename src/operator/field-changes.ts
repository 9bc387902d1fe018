import { type ChangedLine, toChangedWords } from "../core/approvals/question/text-diff.ts";
import { toText } from "../core/shared/json.ts";
import type { ActionReceipt } from "../core/types.ts";
import type { ActionView } from "./trial.ts";

/** The result of a request: actions, or why there are none. */
export interface Outcome {
  mapping?: string;
  actions: (ActionView | RecordedAction)[];
  /** The reason of a skip. */
  reason?: string;
  /** The code and the sentence of a refusal. */
  error?: string;
}

export type RecordedAction = Pick<ActionReceipt, "kind" | "mode" | "sessionKey">;

/** A field of an outcome, with its words before and after. */
export interface FieldChange {
  name: string;
  parts: ChangedLine[];
}

/** The fields in which two outcomes differ. */
export function toFieldChanges({ before, after }: { before: Outcome; after: Outcome }): FieldChange[] {
  const [earlier, later] = [toFields(before), toFields(after)];
  const names = [...new Set([...earlier.keys(), ...later.keys()])];
  return names.flatMap((name): FieldChange[] => {
    const [old = "", now = ""] = [earlier.get(name), later.get(name)];
    return old === now ? [] : [{ name, parts: toChangedWords(old, now).map(toShort) }];
  });
}

/** The fields of each action, or why there is none. */
function toFields({ mapping, actions, reason, error }: Outcome): Map<string, string> {
  if (error !== undefined) return new Map([["result", `refused: ${error}`]]);
  if (actions.length === 0) return new Map([["result", `skipped: ${reason ?? "no action"}`]]);
  const fields = actions.flatMap((action, index) =>
    Object.entries(action).map(([name, value]): [string, string] => [
      actions.length > 1 ? `${index + 1}. ${name}` : name,
      toText(value),
    ]),
  );
  return new Map([...(mapping === undefined ? [] : [["mapping", mapping] as const]), ...fields]);
}

/** The start and the end are enough of a longer text that stays. */
const MAX_SAME = 160;

function toShort({ kind, text }: ChangedLine): ChangedLine {
  if (kind !== "same" || text.length <= MAX_SAME) return { kind, text };
  return { kind, text: `${text.slice(0, 60)} … ${text.slice(-60)}` };
}
