import type { MappingInput } from "../config/schema/generated.ts";
import { HookError } from "../errors.ts";
import { isObject, type Path, readPath, replaceAt } from "../shared/json.ts";
import type { TransformCall } from "../transforms/runner.ts";
import {
  type HookAction,
  type HookRequest,
  isBuiltInHook,
  type LogLine,
  type Resolution,
  SOURCE_CHANNEL,
  toChannelName,
} from "../types.ts";
import { requireValid, resolveBuiltIn } from "./built-in.ts";
import type { CompiledMapping, ForEach } from "./compile.ts";
import {
  fillDraft,
  type FilledDraft,
  isAllowedRecipient,
  renderDraft,
  type Terms,
  toAction,
  toBase,
} from "./policy.ts";
import {
  coalesceActions,
  findIncomplete,
  type ItemKey,
  type ItemKeys,
  renderKeys,
  requireIdempotencyKey,
  toChosenKey,
  toEventKey,
  toItemKeys,
} from "./keys.ts";
import type { MappingIndex } from "./mapping-index.ts";
import { type Budget, createBudget, type RenderedKey } from "./template/template.ts";
import { type RunTransform, shareTimeLimit, transformDraft } from "./transform.ts";

export interface ResolveOptions extends Pick<Terms, "config" | "channels"> {
  mappings: MappingIndex;
  run: RunTransform;
  /** Whether the channel message with this id was sent by a delivery within hooks.dedupeWindow. Absent: none was. */
  isEcho?(messageId: string): Promise<boolean>;
}

/**
 * The whole mapping step: match → schema → forEach → template → transform → policy. Gives the actions of a request; none
 * if its mapping skips it. Waits for nothing but the transform, `isEcho`, or a mail that is read. Throws a `HookError` for what the caller may know.
 */
export async function resolveRequest(
  request: HookRequest,
  { mappings, config, channels, run, isEcho }: ResolveOptions,
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
    const { mail } = mapping.source.mapping;
    const read = mail === undefined ? request : await withMail(request, mail, config);
    if (mapping.check) requireValid(mapping.check, read.payload);
    const budget = createBudget(request.rawBody.length);
    return await resolveItems({ mapping, request: read, config, channels, run, isEcho, budget, log });
  } catch (error) {
    throw withDetail(error, { mapping: mapping.source.id, log });
  }
}

/** The limit of the path, which was checked before, may be that of another mapping. */
function requireBodySize({ rawBody }: HookRequest, maxBodyBytes: number): void {
  if (rawBody.length <= maxBodyBytes) return;
  throw new HookError("body_too_large", { message: `The body is over the limit of ${maxBodyBytes} bytes.` });
}

/** The payload of a mail service that also holds the mail as the mail hook takes it. */
async function withMail(
  request: HookRequest,
  mail: NonNullable<MappingInput["mail"]>,
  { hooks }: Terms["config"],
): Promise<HookRequest> {
  const { readServiceMail } = await import("../mail/message/posted-mail.ts");
  const payload = await readServiceMail(mail, request, hooks.mail[0]);
  return { ...request, payload, payloadIsBody: false };
}

/** Everything that is the same for all items of a request. */
interface Job extends Pick<ResolveOptions, "config" | "channels" | "run" | "isEcho"> {
  mapping: CompiledMapping;
  request: HookRequest;
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
  const warnings = new Set<string>();
  const events: string[] = [];
  const reasons: string[] = [];
  let transformMs: number | undefined;
  const measured: typeof run = async (bundle, call) => {
    const outcome = await run(bundle, call);
    transformMs = (transformMs ?? 0) + outcome.runMs;
    return outcome;
  };
  const itemJob = mapping.bundle ? { ...job, run: mapping.forEach ? shareTimeLimit(measured) : measured } : job;
  for (const item of fanOut(request, mapping.forEach, maxFanOut)) {
    const resolving = resolveItem(item, itemJob);
    const resolved = resolving instanceof Promise ? await resolving : resolving;
    actions.push(...resolved.actions);
    if (resolved.event !== undefined) events.push(resolved.event);
    if (resolved.reason !== undefined) reasons.push(resolved.reason);
    for (const warning of resolved.warnings) warnings.add(warning);
    keys.push({ rendered: resolved.dedupe, actions: resolved.actions.length });
    requireFanOut(actions.length, maxFanOut);
  }
  // The caller's own key takes precedence over the mapping's.
  const idempotency =
    toChosenKey(request.idempotencyKey) ??
    (mapping.templates.dedupe && (mapping.forEach ? toItemKeys(keys) : toEventKey(keys[0]?.rendered)));
  const reason = actions.length > 0 ? undefined : (reasons[0] ?? `${mapping.forEach?.text} lists nothing`);
  return {
    mapping: mapping.source.id,
    event: events[0],
    actions,
    reason,
    idempotency,
    warnings: [...warnings],
    log,
    transformMs,
  };
}

/** What one item became. Without actions, it has a reason. */
interface ResolvedItem extends Pick<Resolution, "actions" | "event" | "reason" | "warnings"> {
  dedupe?: RenderedKey;
}

function resolveItem(item: Item, job: Job): ResolvedItem | Promise<ResolvedItem> {
  const { mapping, request, budget } = job;
  const { filter, templates } = mapping;
  const context = createContext(request, item);
  const event = filter.nameEvent(context, budget);
  const ignored = filter.findReason(event, context, budget);
  if (ignored !== undefined) return { event, actions: [], reason: ignored, warnings: [] };
  const echo = templates.echo?.renderKey(context, budget);
  const rendering: Rendering = { item, context, event };
  return echo && !echo.incomplete && job.isEcho
    ? job.isEcho(echo.text.trim()).then((isEcho) => (isEcho ? toEcho(event) : renderItem(rendering, job)))
    : renderItem(rendering, job);
}

interface Rendering {
  item: Item;
  context: object;
  event: string | undefined;
}

function toEcho(event: string | undefined): ResolvedItem {
  return { event, actions: [], reason: "it is the echo of a delivery", warnings: [] };
}

function renderItem(rendering: Rendering, job: Job): ResolvedItem | Promise<ResolvedItem> {
  const { mapping, request, run, budget, log } = job;
  const { item, context } = rendering;
  const { bundle } = mapping;
  const keys = renderKeys(mapping, context, budget);
  const sessionKey = keys.session?.incomplete ? undefined : keys.session?.text;
  const base = fillDraft({ ...renderDraft(mapping, context, budget), sessionKey }, request.hook);
  if (!bundle) return finishItem(rendering, job, { keys, base, drafts: [base] });
  const { channelNames } = job.config;
  const input = toTransformCall(base, item, request);
  return transformDraft(base, { run, bundle, input, channelNames, log }).then((drafts) =>
    finishItem(rendering, job, { keys, base, drafts: drafts.map((draft) => fillDraft(draft, request.hook)) }),
  );
}

function finishItem(
  { context, event }: Rendering,
  job: Job,
  { keys, base, drafts }: { keys: ItemKeys; base: FilledDraft; drafts: FilledDraft[] },
): ResolvedItem {
  const { mapping, request } = job;
  const terms = toTerms(base, job, keys);
  const place = renderPlace(job, context);
  const filled = drafts.map((draft) => toPlace(draft, place));
  const actions = filled.map((draft) => toAction(draft, terms));
  const reason = actions.length > 0 ? undefined : "the transform gave no action";
  const turns = filled.filter(({ kind }) => kind === "agent");
  const warnings = findIncomplete({
    session: turns.some((turn) => turn.sessionKey === undefined) ? keys.session : undefined,
    coalesce: turns.length > 0 ? keys.coalesce : undefined,
    dedupe: request.idempotencyKey === undefined && actions.length > 0 ? keys.dedupe : undefined,
  });
  if (!place && turns.some(({ channel, deliver }) => channel === SOURCE_CHANNEL && !deliver)) warnings.push(NO_PLACE);
  return { event, actions: coalesceActions(actions, mapping, keys.coalesce), reason, warnings, dedupe: keys.dedupe };
}

const NO_PLACE = "The event names no place for a reply: it will not be delivered.";

/** Where the event is, if it says so: the first line whose recipient the channel's block allows, else the last line. */
function renderPlace({ mapping: { place }, budget, config, channels }: Job, context: object): Place | undefined {
  const rendered = place?.to.renderKey(context, budget);
  const name = place?.channel.render(context, budget).trim();
  if (!name || !rendered || rendered.incomplete) return undefined;
  const channel = toChannelName(name);
  // A recipient that is too long would refuse an event that its sender cannot change.
  const lines = rendered.text.split("\n").map((line) => line.trim());
  const recipients = lines.filter((line) => line !== "" && line.length <= MAX_RECIPIENT);
  const to = recipients.find((line) => isAllowedRecipient(channel, line, { config, channels })) ?? recipients.at(-1);
  return to === undefined ? undefined : { channel, to };
}

const MAX_RECIPIENT = 512;

interface Place {
  channel: string;
  to: string;
}

/** Replaces the channel `source` by the place. Without one, nothing is delivered. */
function toPlace(draft: FilledDraft, place: Place | undefined): FilledDraft {
  if (draft.channel !== SOURCE_CHANNEL || draft.kind === "wake") return draft;
  return place ? { ...draft, ...place, toSource: true } : { ...draft, deliver: false };
}

/**
 * What a template sees: the payload's own fields beside the named ones, which win. Spreading copies own fields only,
 * `__proto__` included, so nothing is inherited.
 */
function createContext(request: HookRequest, { payload, each }: Item): object {
  const { headers, query, path, method } = request;
  return {
    ...(isObject(payload) && payload),
    payload,
    headers,
    query,
    path,
    method,
    now: toTime(request.receivedAt),
    ...each,
  };
}

let lastTime = { at: 0, text: "" };

/** Requests come many in a millisecond, and writing it is slow. */
function toTime(at: number): string {
  if (at !== lastTime.at) lastTime = { at, text: new Date(at).toISOString() };
  return lastTime.text;
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
    now: toTime(request.receivedAt),
    base: toBase(base),
    ...each,
  };
}

/** A name or key from a template with placeholders is the request's choice, also if a transform keeps it. */
function toTerms(
  { name, sessionKey, to }: FilledDraft,
  { mapping, request, config, channels }: Job,
  keys: ItemKeys,
): Terms {
  const { allowUnsafeExternalContent, instructions, agent, transform, update } = mapping.source.mapping;
  const { templates, match } = mapping;
  // A blank name becomes the path of the request, which only `match.path` fixes.
  const isOwnName = templates.name?.isStatic && name !== request.hook;
  return {
    config,
    channels,
    allowsUnsafe: allowUnsafeExternalContent ?? false,
    instructions,
    agent,
    trustedName: isOwnName ? name : match.path,
    update,
    isOwnRecipient: (draft) =>
      draft.toSource ? request.credential.startsWith("auth:") : draft.to === to && templates.to?.isStatic !== false,
    isRequestedKey: (key) =>
      key === sessionKey ? templates.sessionKey?.isStatic === false : transform?.sessionKeys !== "trusted",
    ownSession: keys.session?.incomplete,
  };
}

/** The whole request, or one item per element of the `forEach` lists; none if a list is missing or null. */
function fanOut({ payload, payloadIsBody }: HookRequest, forEach: ForEach | undefined, maxFanOut: number): Item[] {
  if (!forEach) return [{ payload }];
  const { text, lists, narrows } = forEach;
  let found: { payload: unknown; item: unknown; path: Path }[] = [{ payload, item: payload, path: [] }];
  for (const [level, keys] of lists.entries()) {
    const next = found.flatMap(({ item: parent, path, ...rest }) =>
      toList(readPath(parent, keys)).map((item) => ({ ...rest, item, path: [...path, ...keys] })),
    );
    requireFanOut(next.length, maxFanOut);
    const keepsList = level === lists.length - 1 && !narrows;
    found = next.map(({ payload: whole, item, path }) => ({
      payload: keepsList ? whole : replaceAt(whole, path, [item]),
      item,
      path: [...path, "0"],
    }));
  }
  return found.map(({ payload: narrowed, item }, index) => ({ payload: narrowed, each: { item, index } }));

  function toList(value: unknown): unknown[] {
    if (value === undefined || value === null) return [];
    if (Array.isArray(value)) return value;
    // XML and forms do not tell a list of one from a single value.
    if (!payloadIsBody) return [value];
    throw new HookError("invalid_payload", { message: `${text} must be an array.` });
  }
}

function requireFanOut(actions: number, maxFanOut: number): void {
  if (actions <= maxFanOut) return;
  throw new HookError("fan_out_too_large", { message: `This request would result in more than ${maxFanOut} actions.` });
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
