import type { AgentPayload, WakePayload } from "../config/schema/generated.ts";
import { compileSchema, readSchema, type SchemaCheck } from "../config/schema/validator.ts";
import type { ResolvedConfig } from "../config/types.ts";
import { HookError } from "../errors.ts";
import { isObject, readPath, replaceAt } from "../shared/json.ts";
import type { TransformInput } from "../transforms/runner.ts";
import type { AgentAction, HookAction, HookRequest, LogLine, Resolution } from "../types.ts";
import type { CompiledMapping, ForEach } from "./compiled-mapping.ts";
import { fillDraft, type FilledDraft, renderDraft, toBase } from "./draft.ts";
import { toChosenKey, toEventKey, toItemKeys, toKey } from "./idempotency.ts";
import { type Terms, toAction } from "./policy.ts";
import { type Budget, createBudget } from "./template/template.ts";
import { type RunTransform, transformDraft } from "./transform.ts";

export interface MappedOptions {
  config: ResolvedConfig;
  run: RunTransform;
}

/** What a mapping makes of a request that it matches. A `HookError` bears the mapping's id in its detail. */
export async function resolveMapped(
  mapping: CompiledMapping,
  request: HookRequest,
  options: MappedOptions,
): Promise<Resolution> {
  const log: LogLine[] = [];
  try {
    if (mapping.check) requireFit(mapping.check, request.payload);
    const budget = createBudget(request.rawBody.length);
    return await resolveUnits({ ...options, mapping, request, budget, log });
  } catch (error) {
    throw toHookError(error, { mapping: mapping.source.id, log });
  }
}

/** What stays the same for all units of a request. */
interface Job extends MappedOptions {
  mapping: CompiledMapping;
  request: HookRequest;
  budget: Budget;
  log: LogLine[];
}

/** What came of one unit: how many actions, and the idempotency key as its template gives it. */
interface UnitResult {
  actions: number;
  rendered: string | undefined;
}

async function resolveUnits(job: Job): Promise<Resolution> {
  const { mapping, request, log } = job;
  const { maxFanOut } = job.config.hooks;
  const actions: HookAction[] = [];
  const results: UnitResult[] = [];
  for (const unit of fanOut(request.payload, mapping.forEach, maxFanOut)) {
    const made = await resolveUnit(unit, job);
    actions.push(...made.actions);
    results.push({ actions: made.actions.length, rendered: made.rendered });
    requireFanOut(actions.length, maxFanOut);
  }
  const idempotency = toIdempotency(job, results);
  return { mapping: mapping.source.id, actions, idempotency, warnings: [], log };
}

async function resolveUnit(unit: Unit, job: Job): Promise<{ actions: HookAction[]; rendered?: string }> {
  const { mapping, request, budget, run, log } = job;
  const context = createContext(request, unit);
  const base = fillDraft(renderDraft(mapping, context, budget), request.hook);
  const rendered = mapping.templates.dedupe?.renderKey(context, budget);
  const { bundle } = mapping;
  const drafts = bundle ? await transformDraft(base, { run, bundle, input: toInput(base, unit, job), log }) : [base];
  const terms = toTerms(base, job);
  const actions = drafts.map((draft) => toAction(fillDraft(draft, request.hook), terms));
  return { actions: coalesceActions(actions, mapping, { context, budget }), rendered };
}

function toInput(base: FilledDraft, { payload, each }: Unit, { request }: Job): TransformInput {
  const { rawBody, headers, query, path, method } = request;
  return {
    payload,
    payloadIsBody: request.payloadIsBody && payload === request.payload,
    rawBody,
    headers,
    query,
    path,
    method,
    now: new Date(request.receivedAt).toISOString(),
    base: toBase(base),
    ...each,
  };
}

/** A key from a template with holes is the request's choice; a transform that keeps it does not make it the operator's. */
function toTerms({ sessionKey }: FilledDraft, { mapping, config }: Job): Terms {
  const { allowUnsafeExternalContent, instructions, agent } = mapping.source.mapping;
  const isRequested = mapping.templates.sessionKey?.isStatic === false;
  return {
    config,
    allowsUnsafe: allowUnsafeExternalContent ?? false,
    instructions,
    agent,
    requestedKey: isRequested ? sessionKey : undefined,
  };
}

/** The caller's own key goes before what the mapping would take. */
function toIdempotency({ mapping, request }: Job, results: UnitResult[]): Resolution["idempotency"] {
  const chosen = toChosenKey(request.idempotencyKey);
  if (chosen || !mapping.templates.dedupe) return chosen;
  return mapping.forEach ? toItemKeys(results) : toEventKey(results[0]?.rendered);
}

/** The operator sees which mapping it was, and what its transform had printed until then. */
function toHookError(error: unknown, detail: { mapping: string; log: LogLine[] }): unknown {
  // Only a payload nested many thousand levels deep takes a template to the end of the stack.
  const known = error instanceof RangeError ? TOO_DEEP : error;
  if (!(known instanceof HookError)) return known;
  const { code, message, headers } = known;
  const own = typeof known.detail === "object" ? known.detail : {};
  return new HookError(code, { message, headers, detail: { ...detail, ...own }, cause: error });
}

const TOO_DEEP = new HookError("invalid_payload", { message: "The payload is nested too deeply." });

/**
 * What a template sees. The payload's own fields stand beside the named ones, which win; `item` and `index` are named
 * under `forEach` only. Spreading makes fields of what the payload holds, also of `__proto__`: nothing is inherited.
 */
function createContext(request: HookRequest, { payload, each }: Unit): object {
  const { headers, query, path, method } = request;
  const now = new Date(request.receivedAt).toISOString();
  return { ...(isObject(payload) && payload), payload, headers, query, path, method, now, ...each };
}

/** What one action (or one call of a transform) is made from: the request, or one item of it. */
interface Unit {
  payload: unknown;
  /** Set under `forEach`. */
  each?: { item: unknown; index: number };
}

/**
 * The request as a whole, or under `forEach` one unit an item; none where the list is missing or null. Throws a
 * `HookError`: 400 where it is no list, 413 where it is longer than `maxFanOut`.
 */
function fanOut(payload: unknown, forEach: ForEach | undefined, maxFanOut: number): Unit[] {
  if (!forEach) return [{ payload }];
  const items = readPath(payload, forEach.path) ?? [];
  if (!Array.isArray(items)) throw new HookError("invalid_payload", { message: `${forEach.text} must be an array.` });
  requireFanOut(items.length, maxFanOut);
  return items.map((item: unknown, index) => ({
    payload: forEach.narrows ? replaceAt(payload, forEach.path, [item]) : payload,
    each: { item, index },
  }));
}

/** Throws a 413 `HookError` where a request would become too many actions. */
function requireFanOut(actions: number, maxFanOut: number): void {
  if (actions <= maxFanOut) return;
  throw new HookError("fan_out_too_large", { message: `This request would result in more than ${maxFanOut} actions.` });
}

/**
 * What one unit became, each agent action with the key that it coalesces under; none where the key is blank. Several
 * actions of one unit are about different things: they are told apart by their number. A wake needs no key, as a
 * heartbeat takes all that are pending.
 */
function coalesceActions(
  actions: HookAction[],
  { coalesce }: CompiledMapping,
  { context, budget }: { context: object; budget: Budget },
): HookAction[] {
  const key = toKey(coalesce?.key.render(context, budget));
  if (!coalesce || key === undefined) return actions;
  const { windowMs } = coalesce;
  return actions.map((action, index) => withKey(action, { key: index === 0 ? key : `${key}#${index + 1}`, windowMs }));
}

function withKey(action: HookAction, coalesce: AgentAction["coalesce"]): HookAction {
  return action.kind === "agent" ? { ...action, coalesce } : action;
}

const SCHEMAS = { wake: readSchema("wake"), agent: readSchema("agent") };
const CHECKS = { wake: compileSchema(SCHEMAS.wake), agent: compileSchema(SCHEMAS.agent) };

/** Throws a 400 `HookError` that names the field where this is no payload of `wake`. */
export function requireWake(payload: unknown): asserts payload is WakePayload {
  requireFit(CHECKS.wake, payload);
}

/** Throws a 400 `HookError` that names the field where this is no payload of `agent`. */
export function requireAgent(payload: unknown): asserts payload is AgentPayload {
  requireFit(CHECKS.agent, payload);
}

/** Throws a 400 `HookError` that names the field where the payload does not fit. */
function requireFit(check: SchemaCheck, payload: unknown): void {
  const [problem] = check(payload);
  if (problem) throw new HookError("invalid_payload", { message: `Invalid payload: ${problem.message}.` });
}

/** A sentence for each field that the hook does not know. Its sender chose their names and number: both are bounded. */
export function findUnknownFields(hook: keyof typeof SCHEMAS, payload: object): string[] {
  const known = SCHEMAS[hook]["properties"];
  return Object.keys(payload)
    .filter((name) => isObject(known) && !Object.hasOwn(known, name))
    .slice(0, MAX_WARNINGS)
    .map((name) => `The field ${JSON.stringify(name.slice(0, MAX_NAME_LENGTH))} is not known and was ignored.`);
}

const MAX_WARNINGS = 20;
const MAX_NAME_LENGTH = 64;
