import { DriverError } from "../errors.ts";
import type { Step } from "../journal/journal.ts";
import type { CallResult } from "../ports/tool-set.ts";
import { toText } from "../shared/json.ts";
import { executeEffects, type EffectContext } from "./effects.ts";
import { inCallSpan, isFinished, recordSteps, toResultText } from "./steps.ts";
import { CALL_RULES, type CallRules, planCalls, type PlannedCall, type PlanOptions } from "./call-rules.ts";

const MAX_PARALLEL = 8;

export interface CallsContext extends EffectContext, PlanOptions {
  /** Does work within the time that the turn has left. */
  within<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result>;
}

/**
 * Executes the calls of an answer, and gives a step for each, in their order. First those that only read, side by side, then
 * one after the other those that change something. Calls that an earlier attempt has finished are not repeated. Rejects with
 * `Suspended` if a person must decide first.
 */
export async function executeCalls(answer: Step, context: CallsContext): Promise<Step[]> {
  const planned = await Promise.all(planCalls(answer, context).map((call) => withClosedLinks(call, context)));
  const isResumed = planned.some(({ known }) => known?.callId !== undefined);
  const finished = planned.flatMap(({ known }) => (known && isFinished(known) ? [known] : []));
  const left = planned.filter(({ known }) => !known || !isFinished(known));
  const effects = left.filter(isEffect);
  const reads = left.filter((call) => !isEffect(call));
  const results = await context.within((signal) => executeReads(reads, { ...context, signal }));
  context.signal.throwIfAborted();
  if (results.length > 0) await recordSteps(results, context.steps);
  const changed = effects.length === 0 ? [] : await executeEffects(effects, { ...context, answer, isResumed });
  return [...finished, ...results, ...changed].toSorted((one, other) => one.n - other.n);
}

/** A message of a call carries no more away than a reply would. */
async function withClosedLinks(call: PlannedCall, { rules, sources }: PlanOptions): Promise<PlannedCall> {
  const { granted, arguments: args } = call;
  if (!args || !granted?.call.texts || sources.length === 0) return call;
  const closed = await Promise.all(
    granted.call.texts.map(async (name) => [name, await rules.closeLinks(toText(args[name]))] as const),
  );
  return { ...call, arguments: { ...args, ...Object.fromEntries(closed) } };
}

/** A call that changes something. A call that has begun stays one, whatever is granted now. */
function isEffect({ granted, refusal, known }: PlannedCall): boolean {
  return known !== undefined || (refusal === undefined && granted?.grant.mode !== "read");
}

interface ReadOptions {
  rules: CallRules;
  signal: AbortSignal;
}

async function executeReads(calls: PlannedCall[], context: ReadOptions): Promise<Step[]> {
  const steps: Step[] = [];
  for (let first = 0; first < calls.length; first += MAX_PARALLEL) {
    const group = calls.slice(first, first + MAX_PARALLEL);
    steps.push(...(await Promise.all(group.map((call) => executeRead(call, context)))));
    context.signal.throwIfAborted();
  }
  return steps;
}

async function executeRead(planned: PlannedCall, { rules, signal }: ReadOptions): Promise<Step> {
  const { n, name, granted, refusal, requested } = planned;
  const startedAt = Date.now();
  const { text, isError } =
    refusal !== undefined || !granted
      ? { text: `Not sent: ${refusal ?? ""}.`, isError: true }
      : await inCallSpan(`${rules.runId}/${n}`, name, (callId) => read(planned, { callId, signal }));
  return {
    n,
    kind: "call",
    state: isError ? "failed" : "done",
    ...(refusal !== undefined && { refused: true }),
    call: name,
    arguments: planned.arguments,
    toolCallId: requested.toolCallId,
    ...toResultText(text, name, rules),
    sources: refusal === undefined && granted ? CALL_RULES.sourcesOf(granted.call) : [],
    startedAt,
    finishedAt: Date.now(),
  };
}

/** A read that failed can be asked for again, so an unknown outcome is an error like any other. */
async function read(
  { granted, arguments: args }: PlannedCall,
  options: { signal: AbortSignal; callId: string },
): Promise<Pick<CallResult, "text" | "isError">> {
  try {
    return (await granted?.call.call(args, { ...options, isRepeatable: true })) ?? { text: "", isError: true };
  } catch (error) {
    options.signal.throwIfAborted();
    return { text: error instanceof DriverError ? error.message : "The call failed.", isError: true };
  }
}
