import { compileSchema } from "../config/ajv.ts";
import type { ActionOverride } from "../config/generated.ts";
import { didYouMean } from "../config/did-you-mean.ts";
import { readSchema } from "../config/schemas.ts";
import { HookError } from "../errors.ts";
import type {
  TransformBundle,
  TransformError,
  TransformInput,
  TransformOutcome,
} from "../transforms/port.ts";
import type { LogLine } from "../types.ts";
import { appendLog } from "./log.ts";

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
export async function callTransform({
  run,
  bundle,
  input,
  log,
}: TransformCall): Promise<ActionOverride[] | undefined> {
  const outcome = await run(bundle, input).catch((error: unknown) => {
    throw isTransformError(error) ? toHookError(error, log) : error;
  });
  appendLog(log, outcome.log);
  if (outcome.result.kind === "unchanged") return undefined;
  return toOverrides(outcome.result.value, log);
}

/** A transform that cannot serve. Its caller hears nothing of the reason, the operator all of it. */
export function transformFailed(reason: { message: string; trace?: string; log: LogLine[] }): HookError {
  return new HookError(500, "transform_failed", "The transform of this hook failed.", { detail: reason });
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

/** By its name, as the class belongs to another step. */
function isTransformError(error: unknown): error is TransformError {
  return error instanceof Error && error.name === "TransformError";
}

function toHookError({ kind, message, trace, log }: TransformError, earlier: LogLine[]): HookError {
  if (kind !== "unavailable") return transformFailed({ message, trace, log: [...earlier, ...log] });
  return new HookError(503, "overloaded", "The service is busy; try again in a moment.", {
    headers: { "Retry-After": "1" },
    detail: { message },
  });
}
