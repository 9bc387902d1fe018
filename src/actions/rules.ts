import type { RequestedCall, ToolDescription } from "../agents/driver.ts";
import { type Origin, toLabel } from "../boundary/boundary.ts";
import type { MappingInput } from "../config/schema/generated.ts";
import type { Step } from "../journal/journal.ts";
import { compileCallPattern } from "../mapping/pattern.ts";
import { hashJson } from "../shared/hash.ts";
import { isObject, toObject } from "../shared/json.ts";
import { withPeriod } from "../shared/text.ts";
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

/** How many calls of one answer are executed. */
const MAX_CALLS = 50;

/** The calls that grants allow, as they are open now. A grant that cannot be used is left out, with a warning. */
export function openGrants(
  grants: readonly Grant[],
  tools: Pick<ToolSets, "list" | "explainMissing">,
  run: Pick<CallRules, "runId" | "origin">,
): { rules: CallRules; warnings: string[] } {
  const calls = new Map<string, GrantedCall>();
  const warnings: string[] = [];
  // A call that is named takes precedence over a pattern.
  for (const grant of grants.toSorted((a, b) => Number(a.call.includes("*")) - Number(b.call.includes("*")))) {
    const matches = compileCallPattern(grant.call);
    const found = tools.list().filter(({ fullName }) => matches(fullName));
    if (found.length === 0)
      warnings.push(`The grant of ${grant.call} was left out: ${withPeriod(tools.explainMissing(grant.call))}`);
    for (const call of found) {
      const fixed = grant.arguments ?? {};
      const [problem] = grant.arguments ? call.checkSome(fixed) : [];
      if (problem !== undefined) warnings.push(`The grant of ${call.fullName} was left out: ${problem}.`);
      else if (!calls.has(call.modelName)) calls.set(call.modelName, { call, grant, fixed });
    }
  }
  return { rules: { ...run, calls, tools: Array.from(calls, ([name, granted]) => describe(name, granted)) }, warnings };
}

/** Without the arguments that the model cannot fill. */
function describe(name: string, granted: GrantedCall): ToolDescription {
  const { description, input } = granted.call;
  const properties = Object.entries(toObject(input["properties"])).filter(([argument]) => isFree(granted, argument));
  const required = Array.isArray(input["required"])
    ? input["required"].filter((argument) => isFree(granted, String(argument)))
    : [];
  return { name, description, inputSchema: { ...input, properties: Object.fromEntries(properties), required } };
}

function isFree(
  { grant: { mode, free = mode === "allow" ? [] : undefined }, fixed }: GrantedCall,
  name: string,
): boolean {
  return !Object.hasOwn(fixed, name) && free?.includes(name) !== false;
}

/** A call that a model has asked for, and what the rules say about it. */
export interface PlannedCall {
  /** The number of its step. */
  n: number;
  requested: RequestedCall;
  granted: GrantedCall | undefined;
  /** Its full name, else what the model called it. */
  name: string;
  /** With those that are fixed. */
  arguments: Record<string, unknown> | undefined;
  /** Why it is not sent, in words of this program and names of the operator. */
  refusal: string | undefined;
  /** What an earlier attempt has recorded of it. */
  known: Step | undefined;
}

interface PlanOptions {
  rules: CallRules;
  past: readonly PastExchange[];
  /** The private sources of what the model has read. */
  sources: readonly string[];
  recorded: readonly Step[];
}

/** The calls of an answer, in their order. */
export function planCalls(answer: Step, options: PlanOptions): PlannedCall[] {
  const calls = answer.answer?.calls ?? [];
  return calls.map((requested, index) => {
    const n = answer.n + 1 + index;
    const granted = options.rules.calls.get(requested.name);
    const args = isObject(requested.arguments) ? { ...requested.arguments, ...granted?.fixed } : undefined;
    return {
      n,
      requested,
      granted,
      name: granted?.call.fullName ?? toLabel(requested.name),
      arguments: args,
      refusal: findRefusal(requested, granted, { args, earlier: calls.slice(0, index) }, options),
      known: options.recorded.find((step) => step.kind === "call" && step.n === n),
    };
  });
}

function findRefusal(
  requested: RequestedCall,
  granted: GrantedCall | undefined,
  { args, earlier }: { args: Record<string, unknown> | undefined; earlier: readonly RequestedCall[] },
  { past, sources }: PlanOptions,
): string | undefined {
  if (!granted) return "there is no such call";
  if (earlier.length >= MAX_CALLS) return `an answer can ask for ${MAX_CALLS} calls at most`;
  const { call, grant, fixed } = granted;
  if (!isObject(requested.arguments)) return "the arguments must be an object";
  const given = Object.keys(requested.arguments);
  const chosen = given.find((argument) => Object.hasOwn(fixed, argument));
  if (chosen !== undefined) return `the argument ${chosen} is fixed, and cannot be chosen`;
  const closed = given.find((argument) => isKnown(call, argument) && !isFree(granted, argument));
  if (closed !== undefined) return `the argument ${closed} cannot be chosen`;
  const max = grant.max ?? (grant.mode === "read" ? Infinity : 1);
  const before = [...past.flatMap(({ calls }) => calls), ...earlier];
  if (before.filter(({ name }) => name === call.modelName).length >= max) {
    return `this call can be made ${max === 1 ? "once" : `${max} times`} in a run`;
  }
  if (grant.mode !== "read") return call.check(args)[0];
  const own = setOf(call.fullName);
  const others = sources.filter((source) => source !== own);
  // The operator of a public set could read in the arguments what the model has read elsewhere.
  if (call.audience === "public" && given.length > 0 && others.length > 0) {
    return `${own} is public, and this conversation has read private text from ${others.join(", ")}`;
  }
  return undefined;
}

function isKnown({ input }: OpenCall, argument: string): boolean {
  return Object.hasOwn(toObject(input["properties"]), argument);
}

export function setOf(fullName: string): string {
  return fullName.split(".", 1)[0] ?? "";
}

/** What an approval of a call depends on: what the configuration grants, and what the call does. Undefined if it is not granted. */
export function basisOf(call: OpenCall, written: MappingInput["grants"] = {}): string | undefined {
  const grants = Object.entries(written).filter(([name]) => compileCallPattern(name)(call.fullName));
  return grants.length === 0 ? undefined : hashJson([grants, call.digest]);
}
