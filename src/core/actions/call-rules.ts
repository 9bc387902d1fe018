import type { OfferedChange, RequestedCall, ToolDescription, Workspace } from "../ports/agent.ts";
import { type Origin, toLabel } from "../boundary/boundary.ts";
import type { MappingInput } from "../config/schema/generated.ts";
import type { Step } from "../journal/journal.ts";
import { compileCallPattern } from "../mapping/pattern.ts";
import { hashJson } from "../shared/hash.ts";
import { isObject, toObject } from "../shared/json.ts";
import { withPeriod, toolSetOf } from "../shared/text/text.ts";
import type { OpenCall, ToolSets } from "../ports/open-tool-sets.ts";
import type { Grant } from "../types.ts";
import type { PastExchange } from "./ask-models.ts";

interface GrantedCall {
  call: OpenCall;
  grant: Grant;
  /** Arguments that the operator fixed. The model neither sees nor chooses them. */
  fixed: Record<string, unknown>;
}

/** The calls that a turn may make, and what is true for all of them. */
export interface CallRules {
  /** By the name that the model knows. */
  calls: ReadonlyMap<string, GrantedCall>;
  tools: ToolDescription[];
  /** The call that the service makes of the files in a workspace. */
  change?: GrantedCall;
  runId: string;
  origin: Origin;
  /** Closes the links of a message that was made from something private. */
  closeLinks(text: string): Promise<string>;
}

/** How many calls of one answer are executed. */
const MAX_CALLS = 50;
/** How often one call can be refused in a run. */
const MAX_REFUSALS = 5;

/** The calls that grants allow, as they are open now. A grant that cannot be used is left out, with a warning. */
export function openGrants(
  grants: readonly Grant[],
  tools: Pick<ToolSets, "list" | "explainMissing" | "findChange" | "isChange">,
  { workspace, ...run }: Pick<CallRules, "runId" | "origin" | "closeLinks"> & { workspace?: Workspace },
): { rules: CallRules; warnings: string[] } {
  const calls = new Map<string, GrantedCall>();
  const known = tools.list();
  const change = workspace && openChange(grants, tools.findChange(workspace.account));
  const missing = grants.filter(
    (grant) => !tools.isChange(grant.call) && !known.some(({ fullName }) => compileCallPattern(grant.call)(fullName)),
  );
  const warnings = missing.map(
    ({ call }) => `The grant of ${call} was left out: ${withPeriod(tools.explainMissing(call))}`,
  );
  for (const call of known) {
    const grant = CALL_RULES.grant(call, grants);
    const { arguments: fixed = {} } = grant ?? {};
    const [problem] = grant?.arguments ? call.checkSome(fixed) : [];
    if (problem !== undefined) warnings.push(`The grant of ${call.fullName} was left out: ${problem}.`);
    // A pattern, or a grant of no event, says nothing about where.
    else if (grant && CALL_RULES.isPlaced(call, fixed)) calls.set(call.modelName, { call, grant, fixed });
  }
  const rules = { ...run, calls, change, tools: Array.from(calls, ([name, granted]) => describe(name, granted)) };
  return { rules, warnings };
}

/** No pattern grants it, and all of its arguments are the service's own. It can be repeated. */
function openChange(grants: readonly Grant[], call: OpenCall | undefined): GrantedCall | undefined {
  const grant = grants.find((one) => one.call === call?.fullName && one.mode !== "read");
  if (!call || !grant) return undefined;
  const free = Object.keys(toObject(call.input["properties"]));
  return { call, grant: { ...grant, free, retry: true }, fixed: {} };
}

/** A person is asked about files that the configuration protects. */
function withProtected(granted: GrantedCall | undefined, change: OfferedChange): GrantedCall | undefined {
  if (!granted || change.arguments.protected.length === 0) return granted;
  return { ...granted, grant: { ...granted.grant, mode: "ask" } };
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
  /** The step that an earlier attempt has recorded. */
  known: Step | undefined;
}

export interface PlanOptions {
  rules: CallRules;
  past: readonly PastExchange[];
  /** The private sources of what the model has read. */
  sources: readonly string[];
  /** Steps that an earlier attempt has recorded. */
  recorded: readonly Step[];
}

/** The calls of an answer, in their order. */
export function planCalls(answer: Step, options: PlanOptions): PlannedCall[] {
  const calls = answer.answer?.calls ?? [];
  const earlier = options.past.flatMap((exchange) =>
    exchange.calls.map(({ name }, index) => ({ name, isRefused: exchange.refused[index] === true })),
  );
  return calls.map((requested, index) => {
    const n = answer.n + 1 + index;
    const change = answer.answer?.change;
    const granted = change ? withProtected(options.rules.change, change) : options.rules.calls.get(requested.name);
    const known = options.recorded.find((step) => step.kind === "call" && step.n === n);
    const { args, refusal } = check(requested, granted, { index, earlier, ...options });
    earlier.push({ name: requested.name, isRefused: known ? known.refused === true : refusal !== undefined });
    return {
      n,
      requested,
      granted,
      name: granted?.call.fullName ?? toLabel(requested.name),
      arguments: args,
      refusal,
      known,
    };
  });
}

interface CallContext extends Pick<PlanOptions, "rules" | "sources"> {
  /** In its answer. */
  index: number;
  /** The calls of the run before it. */
  earlier: readonly { name: string; isRefused: boolean }[];
}

/** The final arguments of a call, or why it is not sent. */
function check(
  { name, arguments: given }: RequestedCall,
  granted: GrantedCall | undefined,
  { index, earlier, rules, sources }: CallContext,
): { args?: Record<string, unknown>; refusal?: string } {
  if (!granted) return { args: isObject(given) ? given : undefined, refusal: "there is no such call" };
  if (index >= MAX_CALLS) return { refusal: `an answer can ask for ${MAX_CALLS} calls at most` };
  if (!isObject(given)) return { refusal: "the arguments must be an object" };
  const { args, refusal: chosen } = CALL_RULES.fixed(given, granted);
  const asked = {
    granted,
    given,
    sources,
    refusals: earlier.filter((one) => one.isRefused && one.name === name).length,
    count: earlier.filter((one) => !one.isRefused && rules.calls.get(one.name)?.grant === granted.grant).length,
  };
  const { refusals, free, max, audience } = CALL_RULES;
  const refusal = refusals(asked) ?? chosen ?? free(asked) ?? max(asked) ?? audience(asked);
  // A person is not asked about what would be refused.
  return { args, refusal: refusal ?? findInexact(args) ?? granted.call.check(args)[0] };
}

/** A call whose arguments are an object. */
interface AskedCall {
  granted: GrantedCall;
  /** Arguments from the model. */
  given: Record<string, unknown>;
  /** How many calls of its grant came before it in the run: shown to a person, denied or sent. */
  count: number;
  /** How often it was refused before, in the run. */
  refusals: number;
  sources: readonly string[];
}

/** Rules for a call that a model asks for. The tests of injections replace them one by one. */
export const CALL_RULES = {
  /** Without a grant there is no call. One that names it has precedence over a pattern. */
  grant(call: OpenCall, grants: readonly Grant[]): Grant | undefined {
    const matching = grants.filter((grant) => compileCallPattern(grant.call)(call.fullName));
    return matching.find((grant) => !grant.call.includes("*")) ?? matching[0];
  },
  /** Arguments that the operator fixed cannot be chosen, nor by a spelling that a server may read as the same. */
  fixed(given: Record<string, unknown>, { fixed }: GrantedCall): { args: Record<string, unknown>; refusal?: string } {
    const args = { ...given, ...fixed };
    const names = new Set(Object.keys(fixed).map(foldName));
    const chosen = Object.keys(given).find((argument) => names.has(foldName(argument)));
    return chosen === undefined ? { args } : { args, refusal: `the argument ${chosen} is fixed, and cannot be chosen` };
  },
  /** Nor what is not free. A schema can name arguments in places that are not looked at, or allow any. */
  free({ given, granted }: AskedCall): string | undefined {
    const own = Object.keys(given).filter((name) => !Object.hasOwn(granted.fixed, name));
    const closed = own.find((name) => !isFree(granted, name));
    return closed && `the argument ${closed} cannot be chosen`;
  },
  /** A model that does not learn from a refusal is not told what else is wrong. */
  refusals: ({ refusals }: AskedCall): string | undefined =>
    refusals < MAX_REFUSALS ? undefined : `this call was refused ${MAX_REFUSALS} times in this run`,
  /** A grant by a pattern has one number for all of its calls. */
  max({ count, granted: { grant } }: AskedCall): string | undefined {
    const max = grant.max ?? (grant.mode === "read" ? Infinity : 1);
    return count < max ? undefined : `this call can be made ${max === 1 ? "once" : `${max} times`} in a run`;
  },
  /** The operator of a public set could read in the arguments what the model has read elsewhere. */
  audience({ given, sources, granted: { call, grant } }: AskedCall): string | undefined {
    const own = toolSetOf(call.fullName);
    const others = sources.filter((source) => source !== own);
    const isSafe = call.audience !== "public" || Object.keys(given).length === 0 || others.length === 0;
    if (isSafe || grant.mode !== "read") return undefined;
    return `${own} is public, and this conversation has read private text from ${others.join(", ")}`;
  },
  /** Where others can see what it writes, private text does not go without a person. */
  needsPerson: ({ grant, call }: GrantedCall, sources: readonly string[]): boolean =>
    (grant.mode === "ask" || (grant.isPublic === true && sources.length > 0)) && !call.dryRun,
  /** An argument that only an event may give is fixed. */
  isPlaced: ({ place = [] }: OpenCall, fixed: Record<string, unknown>): boolean =>
    place.every((name) => Object.hasOwn(fixed, name)),
  /** The private sources of what a call has answered. */
  sourcesOf: ({ audience, fullName }: OpenCall): string[] => (audience === "private" ? [toolSetOf(fullName)] : []),
};

/** A longer number than JavaScript can hold would be sent as another one than the model wrote. */
function findInexact(args: Record<string, unknown> = {}): string | undefined {
  const name = Object.keys(args).find((one) => hasInexactNumber(args[one]));
  return name && `the argument ${name} has a number that cannot be sent exactly`;
}

function hasInexactNumber(value: unknown): boolean {
  if (typeof value === "number") return Number.isInteger(value) && !Number.isSafeInteger(value);
  return typeof value === "object" && value !== null && Object.values(value).some(hasInexactNumber);
}

/** Some decoders of JSON ignore the case of names: https://pkg.go.dev/encoding/json#Unmarshal */
function foldName(name: string): string {
  return name.normalize("NFKC").toLowerCase();
}

/**
 * The basis of a call's approval: its grants in the configuration, and the call's behavior. Undefined if it is not
 * granted.
 */
export function basisOf(call: OpenCall, written: MappingInput["grants"] = {}): string | undefined {
  const grants = Object.entries(written).filter(([name]) => compileCallPattern(name)(call.fullName));
  return grants.length === 0 ? undefined : hashJson([grants, call.digest]);
}
