import { didYouMean } from "../shared/text/text.ts";
import type { ActionOverride } from "../config/schema/generated.ts";
import { createBuiltCheck, readSchema } from "../config/schema/validator.ts";
import { HookError, TransformError } from "../errors.ts";
import type { TransformBundle, TransformCall, TransformOutcome, TransformRunner } from "../transforms/runner.ts";
import { SOURCE_CHANNEL } from "../shared/channel-names.ts";
import type { LogLine } from "../types.ts";
import { type Draft, type Given, textOf, toDraft, toGiven } from "./draft.ts";
import type { RequestState } from "./state.ts";

export type RunTransform = TransformRunner["run"];

export interface TransformDraftOptions {
  run: RunTransform;
  bundle: TransformBundle;
  call: TransformCall;
  /** Absent: the mapping keeps none. */
  state?: RequestState;
  /** The channels that an action may name besides `last` and `source`. */
  channelNames: string[];
  toChannel(name: string): string;
  /** Receives what the transform logs. */
  log: LogLine[];
}

/**
 * Calls the mapping's transform: one draft per action that it returns, none if it skips. Throws a `HookError` if it
 * fails, or returns something that is not an action or lacks its text or message.
 */
export async function transformDraft(base: Draft, options: TransformDraftOptions): Promise<Draft[]> {
  const overrides = await callTransform(options);
  const drafts = overrides?.map((override) => applyOverride(base, override, options)) ?? [base];
  // If only the base's template rendered blank, policy tells the sender: the payload is the reason, not the transform.
  const isTransformsFault = overrides !== undefined || textOf(base) === undefined;
  const blank = drafts.find((draft) => !textOf(draft)?.trim());
  if (!blank || !isTransformsFault) return drafts;
  const message =
    blank.kind === "wake"
      ? "The text of the transform's wake is missing or blank (message belongs to an agent action)."
      : "The message of the transform's agent action is missing or blank (text belongs to a wake).";
  throw transformFailed({ message, log: options.log });
}

/** Counts how long the calls of a request run. All its items share one call's time limit, so that a long list cannot hold a worker. */
export function countTime(run: RunTransform): { run: RunTransform; usedMs(): number | undefined } {
  let usedMs: number | undefined;
  return { run: runItem, usedMs: () => usedMs };

  async function runItem(...[bundle, call]: Parameters<RunTransform>): ReturnType<RunTransform> {
    const { timeoutMs } = bundle.spec;
    const leftMs = timeoutMs - (usedMs ?? 0);
    if (leftMs <= 0) {
      throw new TransformError("timeout", `The transform ran longer than ${timeoutMs} ms for all items together.`);
    }
    const outcome = await run(bundle, { ...call, timeoutMs: Math.ceil(leftMs) });
    usedMs = (usedMs ?? 0) + outcome.runMs;
    return outcome;
  }
}

/** Fields over the base, one object per action; undefined keeps the base. */
async function callTransform(options: TransformDraftOptions): Promise<ActionOverride[] | undefined> {
  const { channelNames, toChannel, log } = options;
  const { value, log: lines } = await runWithState(options).catch((error: unknown) => {
    throw error instanceof TransformError ? toHookError(error, log) : error;
  });
  appendLog(log, lines);
  const overrides = readResult(value, log);
  const known = ["last", SOURCE_CHANNEL, ...channelNames];
  if (!overrides || overrides.every(({ channel }) => known.includes(toChannel(channel ?? "last")))) return overrides;
  throw transformFailed({ message: `channel must be one of ${known.join(", ")}`, log });
}

/** The actions of a result; undefined keeps the base. Throws a `HookError` if one is not an action. */
export function readResult(value: unknown, log: LogLine[]): ActionOverride[] | undefined {
  if (value === undefined) return undefined;
  const results: unknown[] = Array.isArray(value) ? value : [value];
  return results.filter((one) => one !== null).map((one) => requireOverride(one, log));
}

/** How many keys of the state one call can read. */
const MAX_READS = 8;

/** Calls the transform again with each key that it reads. Only values that the last call sets count. */
export async function runWithState({
  run,
  bundle,
  call,
  state,
}: Pick<TransformDraftOptions, "run" | "bundle" | "call" | "state">): Promise<TransformOutcome> {
  if (!state) return run(bundle, call);
  const read = new Map<string, string | null>();
  for (;;) {
    const outcome = await run(bundle, { ...call, state: [...read] });
    const { unread, sets = [] } = outcome;
    if (unread === undefined) {
      state.set(sets);
      return outcome;
    }
    if (read.size === MAX_READS || read.has(unread)) {
      throw new TransformError("bad_result", `A call can read ${MAX_READS} keys of the state. This one reads more.`);
    }
    read.set(unread, await state.read(unread));
  }
}

function applyOverride(base: Draft, override: ActionOverride, { call, log }: TransformDraftOptions): Draft {
  return toDraft({ ...toGiven(override, base), ...chooseTargets(base, override, log) }, call.hook, base);
}

/** The targets of the mapping that the result names, or none of them if it says itself where its reply goes. */
function chooseTargets(
  { targets = [] }: Draft,
  { deliver, channel, to }: ActionOverride,
  log: LogLine[],
): Pick<Given, "deliver" | "targets"> {
  const hasOwn = (channel ?? to ?? undefined) !== undefined;
  if (!Array.isArray(deliver)) return { deliver, targets: hasOwn || targets.length === 0 ? null : undefined };
  if (hasOwn && deliver.length > 0) {
    throw transformFailed({ message: "deliver names targets of the mapping, so channel and to must not be set", log });
  }
  const names = targets.flatMap(({ name }) => name ?? []);
  const unknown = deliver.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    const known = names.length > 0 ? `its targets are ${names.join(", ")}` : "it has no target with a name";
    const message = `deliver names the target "${unknown}", which the mapping lacks: ${known}`;
    throw transformFailed({ message, log });
  }
  const chosen = targets.filter(({ name }) => name !== undefined && deliver.includes(name));
  return { deliver: deliver.length > 0, targets: chosen };
}

const ACTION = readSchema("action");
const FIELDS = Object.keys(ACTION["properties"] ?? {});
const checkAction = createBuiltCheck("action");

function requireOverride(result: unknown, log: LogLine[]): ActionOverride {
  if (isOverride(result)) return result;
  throw transformFailed({ message: `The transform returned an invalid action:${describeProblems(result)}`, log });
}

function isOverride(result: unknown): result is ActionOverride {
  return checkAction(result).length === 0;
}

/** One line per problem. The transform's author chose the field names, so they may be shown. */
function describeProblems(result: unknown): string {
  return checkAction(result)
    .map(({ path, rule }) => {
      const suggestion = path && !FIELDS.includes(path) ? didYouMean(path, FIELDS, "") : "";
      return `\n  ${path || "it"} ${rule}${suggestion}`;
    })
    .join("");
}

/** The caller learns nothing of the reason, the operator all of it. */
function transformFailed(detail: { message: string; trace?: string; log: LogLine[] }): HookError {
  return new HookError("transform_failed", { detail });
}

function toHookError({ kind, message, trace, log, retryAfterMs }: TransformError, earlier: LogLine[]): HookError {
  if (kind === "unavailable") {
    const headers = retryAfterMs === undefined ? undefined : { "Retry-After": String(Math.ceil(retryAfterMs / 1000)) };
    return new HookError("overloaded", { headers, detail: { message } });
  }
  return transformFailed({ message, trace, log: [...earlier, ...log] });
}

/** Under `forEach` a transform is called many times, and only each call's log is limited by the sandbox. */
const MAX_LINES = 500;

function appendLog(log: LogLine[], lines: readonly LogLine[]): void {
  for (const line of lines) {
    if (log.length > MAX_LINES) return;
    log.push(log.length < MAX_LINES ? line : LOG_FULL);
  }
}

const LOG_FULL: LogLine = { level: "warn", text: `The log ends here: it holds ${MAX_LINES} lines per request.` };
