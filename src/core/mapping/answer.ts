import type { MappingInput } from "../config/schema/generated.ts";
import { HookError } from "../errors.ts";
import type { Answer } from "../journal/journal.ts";
import type { Diagnostics } from "./diagnostics.ts";
import { isJson, syntaxOf, type Syntax } from "./template/escape.ts";
import { compileField, createBudget, type Template } from "./template/template.ts";

/** A mapping's answer to its sender, which may contain the reply of the run. */
export interface CompiledAnswer {
  /** From the arrival of the request. */
  waitMs: number;
  template: Template;
  /** For an event without a reply. */
  otherwise?: Template;
  contentType: string;
  syntax: Syntax;
  status: number;
}

export function compileAnswer({ answer }: MappingInput, diagnostics: Diagnostics): CompiledAnswer | undefined {
  if (!answer) return undefined;
  const { wait, contentType = "application/json", status = 200 } = answer;
  const syntax = syntaxOf(contentType);
  const compile = (field: "template" | "else"): Template | undefined => {
    const key = `answer.${field}`;
    const template = answer[field] === undefined ? undefined : compileField(key, answer[field], diagnostics, syntax);
    const name = ["item", "index"].find((only) => template?.fields.has(only));
    if (name !== undefined) {
      diagnostics.warning(
        key,
        `An answer is about the whole event: write payload.${name} if the payload has such a field.`,
      );
    }
    return template;
  };
  const [template, otherwise] = [compile("template"), compile("else")];
  if (otherwise?.fields.has("reply")) {
    diagnostics.problem("answer.else", "There is no reply here. Write payload.reply if the payload has such a field.");
  }
  return template && { waitMs: wait * 1000, template, otherwise, contentType, syntax, status };
}

/**
 * The answer to an event with the reply of its run, or without one. Null: the usual answer. `refused` is called with the
 * reason why a template could not be used.
 */
export function renderAnswer(
  answer: CompiledAnswer,
  event: object,
  reply: string | undefined,
  refused: (reason: string) => void,
): Answer | null {
  const { template, otherwise, contentType, syntax, status } = answer;
  const withReply = reply === undefined ? undefined : render(template, { ...event, reply });
  const body = withReply ?? (otherwise && render(otherwise, event));
  return body === undefined ? null : { status, contentType, body };

  function render(used: Template, context: object): string | undefined {
    try {
      const text = used.render(context, createBudget());
      if (syntax !== "json" || isJson(text)) return text;
      refused("the template gave no JSON");
    } catch (error) {
      // Only a payload nested thousands of levels deep makes a template exhaust the stack.
      if (!(error instanceof HookError || error instanceof RangeError)) throw error;
      refused(error.message);
    }
    return undefined;
  }
}
