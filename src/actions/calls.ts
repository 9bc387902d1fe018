import type { RequestedCall, ToolDescription } from "../agents/driver.ts";
import { type Origin, protect, toLabel } from "../boundary/boundary.ts";
import { DriverError } from "../errors.ts";
import type { Step } from "../journal/journal.ts";
import { compileGlobs } from "../mapping/pattern.ts";
import { isObject, toObject } from "../shared/json.ts";
import { inSpan } from "../telemetry/traces.ts";
import type { CallResult } from "../tools/tool-set.ts";
import type { OpenCall, ToolSets } from "../tools/tool-sets.ts";
import type { Grant } from "../types.ts";
import type { PastExchange } from "./exchanges.ts";

/** A call that a turn may make. */
interface GrantedCall {
  call: OpenCall;
  grant: Grant;
  /** What the operator fixed. The model neither sees nor chooses it. */
  fixed: Record<string, unknown>;
}

/** The calls that a turn may make, and what is true for all of them. */
export interface CallRules {
  /** By the name that the model knows. */
  calls: ReadonlyMap<string, GrantedCall>;
  tools: ToolDescription[];
  runId: string;
  origin: Origin;
}

/** How many calls are executed at once. */
const MAX_PARALLEL = 8;

/** How many calls of one answer are executed. */
const MAX_CALLS = 50;

/** The calls that grants allow, as they are open now. A grant that cannot be used is left out, with a warning. */
export function openGrants(
  grants: readonly Grant[],
  tools: Pick<ToolSets, "list" | "explainMissing">,
  run: Pick<CallRules, "runId" | "origin">,
): { rules: CallRules | undefined; warnings: string[] } {
  const calls = new Map<string, GrantedCall>();
  const warnings: string[] = [];
  // A call that is named takes precedence over a pattern.
  for (const grant of grants.toSorted((a, b) => Number(a.call.includes("*")) - Number(b.call.includes("*")))) {
    const matches = compileGlobs([grant.call]);
    const found = tools.list().filter(({ fullName }) => matches(fullName));
    if (found.length === 0)
      warnings.push(`The grant of ${grant.call} was left out: ${tools.explainMissing(grant.call)}.`);
    for (const call of found) {
      const fixed = grant.arguments ?? {};
      const [problem] = grant.arguments ? call.checkSome(fixed) : [];
      if (problem !== undefined) warnings.push(`The grant of ${call.fullName} was left out: ${problem}.`);
      else if (!calls.has(call.modelName)) calls.set(call.modelName, { call, grant, fixed });
    }
  }
  const rules = { ...run, calls, tools: Array.from(calls, ([name, granted]) => describe(name, granted)) };
  return { rules: calls.size > 0 ? rules : undefined, warnings };
}

/** Without the arguments that are fixed. */
function describe(name: string, { call: { description, input }, fixed }: GrantedCall): ToolDescription {
  const isFree = (argument: string): boolean => !Object.hasOwn(fixed, argument);
  const properties = Object.entries(toObject(input["properties"])).filter(([argument]) => isFree(argument));
  const required = Array.isArray(input["required"]) ? input["required"].filter((one) => isFree(String(one))) : [];
  return { name, description, inputSchema: { ...input, properties: Object.fromEntries(properties), required } };
}

interface ExecuteOptions {
  rules: CallRules;
  past: readonly PastExchange[];
  /** The private sources of what the model has read. */
  sources: readonly string[];
  signal: AbortSignal;
}

/** Executes the calls of an answer side by side, and gives a step for each, in their order. Rejects only if it is aborted. */
export async function executeCalls(answer: Step, options: ExecuteOptions): Promise<Step[]> {
  const requested = answer.answer?.calls ?? [];
  const steps: Step[] = [];
  for (let first = 0; first < requested.length; first += MAX_PARALLEL) {
    const group = requested.slice(first, first + MAX_PARALLEL);
    const done = group.map((call, index) => executeCall(call, { answer, index: first + index }, options));
    steps.push(...(await Promise.all(done)));
    options.signal.throwIfAborted();
  }
  return steps;
}

interface Place {
  answer: Step;
  /** The call's place in the answer. */
  index: number;
}

async function executeCall(requested: RequestedCall, place: Place, options: ExecuteOptions): Promise<Step> {
  const { rules, signal } = options;
  const startedAt = Date.now();
  const n = place.answer.n + 1 + place.index;
  const granted = rules.calls.get(requested.name);
  const name = granted?.call.fullName ?? toLabel(requested.name);
  const args = isObject(requested.arguments) ? { ...requested.arguments, ...granted?.fixed } : undefined;
  const refusal = findRefusal(requested, granted, place, options);
  const { text, isError } =
    refusal !== undefined || !granted
      ? { text: `Not sent: ${refusal ?? ""}.`, isError: true }
      : await inSpan("execute_tool", async (describeSpan) => {
          describeSpan?.({ "gen_ai.tool.name": name, "gen_ai.tool.call.id": `${rules.runId}/${n}` });
          return read(granted.call, args, { signal, callId: `${rules.runId}/${n}` });
        });
  const wasSent = refusal === undefined;
  return {
    n,
    kind: "call",
    state: isError ? "failed" : "done",
    call: name,
    arguments: args,
    toolCallId: requested.toolCallId,
    ...protect(text, { allowUnsafeExternalContent: false }, { ...rules.origin, source: `tool ${name}` }),
    sources: wasSent && granted?.call.audience === "private" ? [setOf(name)] : [],
    startedAt,
    finishedAt: Date.now(),
  };
}

/** A read that failed can be asked for again, so an unknown outcome is an error like any other. */
async function read(
  call: OpenCall,
  args: unknown,
  options: { signal: AbortSignal; callId: string },
): Promise<Pick<CallResult, "text" | "isError">> {
  try {
    return await call.call(args, options);
  } catch (error) {
    options.signal.throwIfAborted();
    return { text: error instanceof DriverError ? error.message : "The call failed.", isError: true };
  }
}

/** Why a call is not sent, in words of this program and names of the operator. */
function findRefusal(
  requested: RequestedCall,
  granted: GrantedCall | undefined,
  { answer, index }: Place,
  { past, sources }: ExecuteOptions,
): string | undefined {
  if (!granted) return "there is no such call";
  if (index >= MAX_CALLS) return `an answer can ask for ${MAX_CALLS} calls at most`;
  const { call, grant, fixed } = granted;
  if (!isObject(requested.arguments)) return "the arguments must be an object";
  const given = Object.keys(requested.arguments);
  const chosen = given.find((argument) => Object.hasOwn(fixed, argument));
  if (chosen !== undefined) return `the argument ${chosen} is fixed, and cannot be chosen`;
  if (grant.max !== undefined && countCalls(call, { past, answer, index }) >= grant.max) {
    return `this call can be made ${grant.max} times in a run`;
  }
  const own = setOf(call.fullName);
  const others = sources.filter((source) => source !== own);
  // The operator of a public set could read in the arguments what the model has read elsewhere.
  if (call.audience === "public" && given.length > 0 && others.length > 0) {
    return `${own} is public, and this conversation has read private text from ${others.join(", ")}`;
  }
  return undefined;
}

/** How often the call was asked for before, in the run. */
function countCalls(
  { modelName }: OpenCall,
  { past, answer, index }: { past: readonly PastExchange[]; answer: Step; index: number },
): number {
  const earlier = [...past.flatMap(({ calls }) => calls), ...(answer.answer?.calls.slice(0, index) ?? [])];
  return earlier.filter(({ name }) => name === modelName).length;
}

function setOf(fullName: string): string {
  return fullName.split(".", 1)[0] ?? "";
}
