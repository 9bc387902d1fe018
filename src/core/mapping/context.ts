import type { MappingInput } from "../config/schema/generated.ts";
import { messageOf } from "../errors.ts";
import { compileFields } from "../shared/template-values.ts";
import type { ToolSets } from "../ports/open-tool-sets.ts";
import { type ContextCall, isPresetCall } from "../types.ts";
import type { Diagnostics } from "./diagnostics.ts";
import { type Budget, compileField, compileTemplate, isYes, type Template } from "./template/template.ts";

/** One item of a mapping's `context`. */
export interface CompiledContext extends Omit<ContextCall, "arguments"> {
  when?: Template;
  fill: FillArguments;
}

/** They are read side by side. */
const MAX_CALLS = 8;

/** Undefined unless the mapping has `context`. */
export function compileContext({ context }: MappingInput, diagnostics: Diagnostics): CompiledContext[] | undefined {
  if (context && context.length > MAX_CALLS)
    diagnostics.problem("context", `There are more than ${MAX_CALLS} calls. Remove some.`);
  return context?.map(({ arguments: args = {}, when, ...entry }, index) => {
    const at = `context[${index}]`;
    return {
      title: entry.call,
      ...entry,
      fill: compileArguments(args, at, diagnostics),
      when: when === undefined ? undefined : compileField(`${at}.when`, when, diagnostics),
    };
  });
}

/** Gives the arguments of one item; a value that the event lacks is left out. */
export type FillArguments = (context: object, budget?: Budget) => Record<string, unknown>;

/** Compiles arguments with templates. Reports those that cannot be used, under the key of what they belong to. */
export function compileArguments(
  args: Record<string, unknown>,
  key: string,
  diagnostics: Diagnostics,
  name = "arguments",
): FillArguments {
  try {
    return compileFields<Budget>(args, name, compileComplete);
  } catch (error) {
    diagnostics.problem(key, messageOf(error));
    return () => ({});
  }
}

/** A text with a gap would name something else. */
function compileComplete(source: string): { render(context: object, budget?: Budget): string | undefined } {
  const template = compileTemplate(source);
  return {
    render(context, budget) {
      const { text, incomplete } = template.renderKey(context, budget);
      return incomplete ? undefined : text;
    },
  };
}

/** The arguments of calls and grants are stored with each action. */
const MAX_ARGUMENTS = 16_384;

/** Why arguments are left out; undefined if they are short enough. */
export function describeTooLong(args: object): string | undefined {
  const isTooLong = JSON.stringify(args).length > MAX_ARGUMENTS;
  return isTooLong ? `its arguments have more than ${MAX_ARGUMENTS} characters` : undefined;
}

interface RenderOptions {
  context: object;
  /** Whether an argument of a preset's read names another place than that of the event. */
  isElsewhere(call: string, args: Record<string, unknown>): boolean;
  /** Others can see the place of the event. */
  isPublic: boolean;
  budget: Budget;
  tools?: Pick<ToolSets, "find">;
}

/** The calls for one item. Arguments that do not fit the call's schema, and entries without a call, are left out with a warning. */
export function renderContext(
  entries: readonly CompiledContext[],
  { context, isPublic, isElsewhere, budget, tools }: RenderOptions,
): { context: ContextCall[]; warnings: string[] } {
  const warnings: string[] = [];
  const calls = entries.flatMap(({ fill, when, ...entry }): ContextCall[] => {
    if (when && !isYes(when, context, budget)) return [];
    const args = fill(context, budget);
    const problem =
      describeTooLong(args) ??
      tools?.find(entry.call)?.check(args)[0] ??
      (isElsewhere(entry.call, args) ? "it is not about the place of the event" : undefined);
    // A preset reads from the place of its event, so everybody who sees that place can see the result.
    const shown = isPublic && isPresetCall(entry.call) ? { isPublic } : {};
    if (problem === undefined) return [{ ...entry, ...shown, arguments: args }];
    warnings.push(`The context "${entry.title}" is left out: ${problem}.`);
    return [];
  });
  return { context: calls, warnings };
}
