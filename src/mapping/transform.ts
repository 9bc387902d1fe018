import { didYouMean } from "../config/did-you-mean.ts";
import type { ActionOverride } from "../config/schema/generated.ts";
import { compileSchema, readSchema } from "../config/schema/validator.ts";
import { HookError, TransformError } from "../errors.ts";
import type { TransformBundle, TransformInput, TransformOutcome } from "../transforms/runner.ts";
import type { LogLine } from "../types.ts";
import { type Draft, mergeOverride, textOf } from "./draft.ts";

/**
 * What a mapping's transform makes of the draft that its templates gave; none: the transform skips. Throws a 500
 * `HookError` where it fails or makes an action that lacks its text or message.
 */
export async function transformDraft(base: Draft, call: TransformCall): Promise<Draft[]> {
  const overrides = await callTransform(call);
  const drafts = overrides?.map((override) => mergeOverride(base, override)) ?? [base];
  // A base that a template left blank is the payload's doing, and told to its sender.
  const isOwnDoing = overrides !== undefined || textOf(base) === undefined;
  const blank = drafts.find((draft) => !textOf(draft)?.trim());
  if (blank && isOwnDoing) throw transformFailed({ message: toBlankMessage(blank), log: call.log });
  return drafts;
}

function toBlankMessage({ kind }: Draft): string {
  return kind === "wake"
    ? "The transform makes a wake without text (message belongs to an agent action)."
    : "The transform makes an agent action without message (text belongs to a wake).";
}

/** How a transform is run: the sandbox's way in. */
export type RunTransform = (bundle: TransformBundle, input: TransformInput) => Promise<TransformOutcome>;

/** One call of a mapping's transform. */
export interface TransformCall {
  run: RunTransform;
  bundle: TransformBundle;
  input: TransformInput;
  /** Takes what the transform prints. */
  log: LogLine[];
}

/**
 * What the transform returns: fields over the base, an action each; `undefined`: the base as it is. Throws a 500
 * `HookError`, with what the operator needs as its detail, where it fails or what it returns is no action.
 */
async function callTransform({ run, bundle, input, log }: TransformCall): Promise<ActionOverride[] | undefined> {
  const outcome = await run(bundle, input).catch((error: unknown) => {
    throw error instanceof TransformError ? toHookError(error, log) : error;
  });
  appendLog(log, outcome.log);
  if (outcome.result.kind === "unchanged") return undefined;
  return toOverrides(outcome.result.value, log);
}

/** A transform that cannot serve. Its caller hears nothing of the reason, the operator all of it. */
function transformFailed(reason: { message: string; trace?: string; log: LogLine[] }): HookError {
  return new HookError("transform_failed", { detail: reason });
}

const ACTION = readSchema("action");
const FIELDS = Object.keys(ACTION["properties"] ?? {});
const checkAction = compileSchema(ACTION, { all: true });

function toOverrides(result: unknown, log: LogLine[]): ActionOverride[] {
  const results: unknown[] = Array.isArray(result) ? result : [result];
  return results
    .filter((one) => one !== null)
    .map((one) => {
      if (isOverride(one)) return one;
      const message = `The transform returned what is no action:${describeProblems(one)}`;
      throw transformFailed({ message, log });
    });
}

function isOverride(result: unknown): result is ActionOverride {
  return checkAction(result).length === 0;
}

/** A line each. The author chose the names of the fields, so that they can be told. */
function describeProblems(result: unknown): string {
  return checkAction(result)
    .map(({ path, rule }) => `\n  ${path || "it"} ${rule}${path ? suggestField(path) : ""}`)
    .join("");
}

function suggestField(name: string): string {
  return FIELDS.includes(name) ? "" : didYouMean(name, FIELDS, "");
}

function toHookError({ kind, message, trace, log }: TransformError, earlier: LogLine[]): HookError {
  if (kind !== "unavailable") return transformFailed({ message, trace, log: [...earlier, ...log] });
  return new HookError("overloaded", { detail: { message } });
}

/** Under `forEach` a transform is called many times; each call is bounded by itself. */
const MAX_LINES = 500;

/** Keeps what a call printed, up to a limit that is told. */
function appendLog(log: LogLine[], lines: readonly LogLine[]): void {
  for (const line of lines) {
    if (log.length > MAX_LINES) return;
    log.push(log.length < MAX_LINES ? line : END);
  }
}

const END: LogLine = { level: "warn", text: `The log ends here: it holds ${MAX_LINES} lines of a request.` };
