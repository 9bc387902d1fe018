import type { ResolvedConfig } from "../config/resolved.ts";
import { HookError } from "../errors.ts";
import type { TransformInput } from "../transforms/port.ts";
import type { HookAction, HookRequest, LogLine, Resolution } from "../types.ts";
import { type Budget, createBudget } from "./budget.ts";
import type { RunTransform } from "./call-transform.ts";
import { coalesceActions } from "./coalesce.ts";
import type { CompiledMapping } from "./compiled-mapping.ts";
import { createContext } from "./context.ts";
import { fillDraft, type FilledDraft, renderDraft, toBase } from "./draft.ts";
import { fanOut, requireFanOut, type Unit } from "./fan-out.ts";
import { toChosenKey, toEventKey, toItemKeys } from "./idempotency.ts";
import { requireFit } from "./payload.ts";
import { type Terms, toAction } from "./policy.ts";
import { transformDraft } from "./transform.ts";

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
  const drafts = bundle
    ? await transformDraft(base, { run, bundle, input: toInput(base, unit, job), log })
    : [base];
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
  const { status, code, message, headers } = known;
  const own = typeof known.detail === "object" ? known.detail : {};
  return new HookError(status, code, message, { headers, detail: { ...detail, ...own }, cause: error });
}

const TOO_DEEP = new HookError(400, "invalid_payload", "The payload is nested too deeply.");
