import { createHash } from "node:crypto";
import { HookError } from "../errors.ts";
import { createId } from "../shared/id.ts";
import { isObject, readPath, replaceAt } from "../shared/json.ts";
import type { TransformCall } from "../transforms/runner.ts";
import { type HookAction, type HookRequest, isBuiltInHook, type LogLine, type Resolution } from "../types.ts";
import { requireValid, resolveBuiltIn } from "./built-in.ts";
import type { CompiledMapping, ForEach } from "./compile.ts";
import { fillDraft, type FilledDraft, renderDraft, toBase } from "./draft.ts";
import type { MappingIndex } from "./match.ts";
import { type Terms, toAction } from "./policy.ts";
import { type Budget, createBudget } from "./template/template.ts";
import { type RunTransform, shareTimeLimit, transformDraft } from "./transform.ts";

export interface ResolveOptions extends Pick<Terms, "config" | "channels"> {
  mappings: MappingIndex;
  run: RunTransform;
}

/**
 * The whole mapping step: match → schema → forEach → template → transform → policy. Gives the actions of a request; none
 * if its mapping skips it. Waits for nothing but the transform. Throws a `HookError` for what the caller may know.
 */
export async function resolveRequest(
  request: HookRequest,
  { mappings, config, channels, run }: ResolveOptions,
): Promise<Resolution> {
  requireIdempotencyKey(request);
  const { hook } = request;
  if (isBuiltInHook(hook)) {
    const { action, idempotencyKey, warnings } = resolveBuiltIn(hook, request.payload, { config, channels });
    const idempotency = toChosenKey(request.idempotencyKey ?? idempotencyKey);
    return { actions: [action], idempotency, warnings, log: [] };
  }
  const mapping = mappings.find(request);
  if (!mapping) {
    const reason = mappings.explain(request);
    if (reason === undefined) throw new HookError("not_found", { message: "There is no such hook." });
    return { actions: [], reason, warnings: [], log: [] };
  }

  const log: LogLine[] = [];
  try {
    requireBodySize(request, mapping.source.mapping.maxBodyBytes ?? config.hooks.maxBodyBytes);
    if (mapping.check) requireValid(mapping.check, request.payload);
    const budget = createBudget(request.rawBody.length);
    return await resolveItems({ mapping, request, config, channels, run, budget, log });
  } catch (error) {
    throw withDetail(error, { mapping: mapping.source.id, log });
  }
}

/** The limit of the path, which was checked before, may be that of another mapping. */
function requireBodySize({ rawBody }: HookRequest, maxBodyBytes: number): void {
  if (rawBody.length <= maxBodyBytes) return;
  throw new HookError("body_too_large", { message: `The body is over the limit of ${maxBodyBytes} bytes.` });
}

/** Everything that is the same for all items of a request. */
interface Job extends Pick<Terms, "config" | "channels"> {
  mapping: CompiledMapping;
  request: HookRequest;
  run: RunTransform;
  budget: Budget;
  log: LogLine[];
}

/** What one action, or one call of a transform, is made from: the whole request or one item of it. */
interface Item {
  payload: unknown;
  /** Set under `forEach`. */
  each?: { item: unknown; index: number };
}

async function resolveItems(job: Job): Promise<Resolution> {
  const { mapping, request, config, run, log } = job;
  const { maxFanOut } = config.hooks;
  const actions: HookAction[] = [];
  const keys: ItemKey[] = [];
  const events: string[] = [];
  const reasons: string[] = [];
  const itemJob = mapping.forEach ? { ...job, run: shareTimeLimit(run) } : job;
  for (const item of fanOut(request, mapping.forEach, maxFanOut)) {
    const resolved = await resolveItem(item, itemJob);
    actions.push(...resolved.actions);
    if (resolved.event !== undefined) events.push(resolved.event);
    if (resolved.reason !== undefined) reasons.push(resolved.reason);
    keys.push({ rendered: resolved.key, actions: resolved.actions.length });
    requireFanOut(actions.length, maxFanOut);
  }
  // The caller's own key takes precedence over the mapping's.
  const idempotency =
    toChosenKey(request.idempotencyKey) ??
    (mapping.templates.dedupe && (mapping.forEach ? toItemKeys(keys) : toEventKey(keys[0]?.rendered)));
  const reason = actions.length > 0 ? undefined : (reasons[0] ?? `${mapping.forEach?.text} lists nothing`);
  return { mapping: mapping.source.id, event: events[0], actions, reason, idempotency, warnings: [], log };
}

/** What one item became. Without actions, it has a reason. */
interface ResolvedItem extends Pick<Resolution, "actions" | "event" | "reason"> {
  key?: string;
}

async function resolveItem(item: Item, job: Job): Promise<ResolvedItem> {
  const { mapping, request, budget, run, log } = job;
  const { channelNames } = job.config;
  const { bundle, filter, templates } = mapping;
  const context = createContext(request, item);
  const event = filter.nameEvent(context, budget);
  const ignored = filter.findReason(event, context, budget);
  if (ignored !== undefined) return { event, actions: [], reason: ignored };
  const base = fillDraft(renderDraft(mapping, context, budget), request.hook);
  const key = templates.dedupe?.renderKey(context, budget);
  const drafts = bundle
    ? await transformDraft(base, { run, bundle, input: toTransformCall(base, item, request), channelNames, log })
    : [base];
  const terms = toTerms(base, job);
  const actions = drafts.map((draft) => toAction(fillDraft(draft, request.hook), terms));
  const reason = actions.length > 0 ? undefined : "the transform gave no action";
  return { event, actions: coalesceActions(actions, mapping, context, budget), reason, key };
}

/**
 * What a template sees: the payload's own fields beside the named ones, which win. Spreading copies own fields only,
 * `__proto__` included, so nothing is inherited.
 */
function createContext(request: HookRequest, { payload, each }: Item): object {
  const { headers, query, path, method } = request;
  const now = new Date(request.receivedAt).toISOString();
  return { ...(isObject(payload) && payload), payload, headers, query, path, method, now, ...each };
}

function toTransformCall(base: FilledDraft, { payload, each }: Item, request: HookRequest): TransformCall {
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

/** A name or key from a template with placeholders is the request's choice, also if a transform keeps it. */
function toTerms({ name, sessionKey }: FilledDraft, { mapping, request, config, channels }: Job): Terms {
  const { allowUnsafeExternalContent, instructions, agent } = mapping.source.mapping;
  const { templates, match } = mapping;
  const isRequested = templates.sessionKey?.isStatic === false;
  // A blank name becomes the path of the request, which only `match.path` fixes.
  const isOwnName = templates.name?.isStatic && name !== request.hook;
  return {
    config,
    channels,
    allowsUnsafe: allowUnsafeExternalContent ?? false,
    instructions,
    agent,
    trustedName: isOwnName ? name : match.path,
    requestedKey: isRequested ? sessionKey : undefined,
  };
}

/** The whole request, or one item per element of the `forEach` list; none if the list is missing or null. */
function fanOut({ payload, payloadIsBody }: HookRequest, forEach: ForEach | undefined, maxFanOut: number): Item[] {
  if (!forEach) return [{ payload }];
  const value = readPath(payload, forEach.path) ?? [];
  // XML and forms do not tell a list of one from a single value.
  const list = payloadIsBody || Array.isArray(value) ? value : [value];
  if (!Array.isArray(list)) throw new HookError("invalid_payload", { message: `${forEach.text} must be an array.` });
  requireFanOut(list.length, maxFanOut);
  return list.map((item: unknown, index) => ({
    payload: forEach.narrows ? replaceAt(payload, forEach.path, [item]) : payload,
    each: { item, index },
  }));
}

function requireFanOut(actions: number, maxFanOut: number): void {
  if (actions <= maxFanOut) return;
  throw new HookError("fan_out_too_large", { message: `This request would result in more than ${maxFanOut} actions.` });
}

/** A wake needs no key, because a heartbeat takes all pending ones. Several actions of one item are numbered. */
function coalesceActions(
  actions: HookAction[],
  { coalesce }: CompiledMapping,
  context: object,
  budget: Budget,
): HookAction[] {
  const key = toKey(coalesce?.key.render(context, budget));
  if (!coalesce || key === undefined) return actions;
  const { windowMs } = coalesce;
  return actions.map((action, index) =>
    action.kind === "agent" ? { ...action, coalesce: { key: numberKey(key, index), windowMs } } : action,
  );
}

/** Adds for the operator which mapping it was and what its transform had logged. */
function withDetail(error: unknown, detail: { mapping: string; log: LogLine[] }): unknown {
  // Only a payload nested thousands of levels deep makes a template exhaust the stack.
  const known = error instanceof RangeError ? TOO_DEEP : error;
  if (!(known instanceof HookError)) return known;
  const { code, message, headers } = known;
  return new HookError(code, { message, headers, detail: { ...detail, ...known.detail }, cause: error });
}

const TOO_DEEP = new HookError("invalid_payload", { message: "The payload is nested too deeply." });

type Idempotency = NonNullable<Resolution["idempotency"]>;

/** In characters. A longer key of a template is replaced by its hash; a longer header is refused. */
const MAX_KEY_LENGTH = 255;
const VISIBLE = /^[\x21-\x7e]+$/;

/** Throws a `HookError` if the `Idempotency-Key` header is present and not a valid key. */
function requireIdempotencyKey({ idempotencyKey: key }: HookRequest): void {
  if (key === undefined || (key.length <= MAX_KEY_LENGTH && VISIBLE.test(key))) return;
  const message = `Idempotency-Key must be 1 to ${MAX_KEY_LENGTH} visible ASCII characters.`;
  throw new HookError("invalid_idempotency_key", { message });
}

/** A key from header or body. The same key with other content is the caller's mistake. */
function toChosenKey(key: string | undefined): Idempotency | undefined {
  return key === undefined ? undefined : { keys: [key], perAction: false, conflictOnOtherContent: true };
}

/** The key of the whole event, from the `dedupe` template; none if that renders blank. */
function toEventKey(rendered: string | undefined): Idempotency | undefined {
  const key = toKey(rendered);
  return key === undefined ? undefined : { keys: [key], perAction: false, conflictOnOtherContent: false };
}

/** What `dedupe` renders for one item, and the number of actions the item became. */
interface ItemKey {
  rendered: string | undefined;
  actions: number;
}

/** One key per action. An item without a key never counts as a duplicate. */
function toItemKeys(items: ItemKey[]): Idempotency | undefined {
  const keys = items.flatMap(({ rendered, actions }) => {
    const key = toKey(rendered) ?? createId();
    return Array.from({ length: actions }, (_, index) => numberKey(key, index));
  });
  return keys.length === 0 ? undefined : { keys, perAction: true, conflictOnOtherContent: false };
}

/** The key of the action at `index` among those that one item became. */
function numberKey(key: string, index: number): string {
  return index === 0 ? key : `${key}#${index + 1}`;
}

/** The rendered text as a key; none if it is blank. */
function toKey(rendered: string | undefined): string | undefined {
  const key = rendered?.trim() ?? "";
  if (key.length <= MAX_KEY_LENGTH) return key || undefined;
  return `sha256:${createHash("sha256").update(key).digest("hex")}`;
}
