import type { MappingInput } from "../config/schema/generated.ts";
import { bodyTooLarge, HookError } from "../errors.ts";
import { exactPayload, findExactPayload } from "../shared/exact-json.ts";
import { type Path, readPath, replaceAt } from "../shared/json.ts";
import { redactPayload } from "../shared/secret.ts";
import type { HookRequest, LogLine, Resolution } from "../types.ts";
import { requireValid, resolveBuiltIn } from "./built-in.ts";
import type { CompiledMapping, ForEach } from "./compile.ts";
import { type ResolvedItem, resolveItem } from "./item/item.ts";
import { type Item, type MappingRun, toContext } from "./item/mapping-run.ts";
import { requireIdempotencyKey, toChosenKey, toEventKey, toItemKeys } from "./policy/keys.ts";
import { isBuiltInHook, type MappingIndex } from "./mapping-index.ts";
import type { Terms } from "./policy/policy.ts";
import { openEmptyState, type RequestState } from "./state.ts";
import { createBudget } from "./template/template.ts";
import { countTime } from "./transform.ts";

export interface ResolveOptions extends Pick<
  MappingRun,
  "config" | "channels" | "tools" | "run" | "isEcho" | "hasSpoken" | "findSent" | "changes" | "isOwn"
> {
  mappings: MappingIndex;
  /** Opens the state of this name. Absent: it is empty. */
  openState?(name: string): RequestState;
  /** Adds the mail to the payload that a mail service has posted. Rejects with a 400 if there is none. */
  readMail(service: NonNullable<MappingInput["mail"]>, request: HookRequest): Promise<object>;
}

/**
 * The whole mapping step: match → schema → forEach → template → transform → policy. Gives the actions of a request; none
 * if its mapping skips it. Waits only for the transform, `isEcho`, `hasSpoken`, `findSent`, or a mail that is read. Throws a `HookError` for what the
 * caller may know.
 */
export async function resolveRequest(
  request: HookRequest,
  {
    mappings,
    config,
    channels,
    tools,
    run,
    isEcho,
    hasSpoken,
    findSent,
    changes,
    isOwn,
    openState = openEmptyState,
    readMail,
  }: ResolveOptions,
): Promise<Resolution> {
  const { hook } = request;
  if (isBuiltInHook(hook)) {
    requireValidKey(request);
    const { action, idempotencyKey, warnings } = resolveBuiltIn(hook, request.payload, {
      config,
      channels,
      sessions: mappings.sessions.ofToken(request.credential),
    });
    const key = request.idempotencyKey ?? idempotencyKey;
    return { actions: [action], idempotency: key === undefined ? undefined : toChosenKey(key), warnings, log: [] };
  }
  const mapping = mappings.find(request);
  if (!mapping) {
    const reason = mappings.explain(request);
    if (reason === undefined) throw new HookError("not_found", { message: "There is no such hook." });
    return { actions: [], reason, warnings: [], log: [] };
  }

  const log: LogLine[] = [];
  try {
    const counted = withCountingKey(request, mapping);
    requireValidKey(counted);
    requireBodySize(request, mapping.source.mapping.maxBodyBytes ?? config.hooks.maxBodyBytes);
    const read = await withMail(counted, mapping.source.mapping, readMail);
    if (mapping.check) requireValid(mapping.check, read.payload);
    const time = mapping.bundle && countTime(run);
    const { state = false } = mapping.source.mapping;
    const name = typeof state === "string" ? state : mapping.source.id;
    const kept = state !== false || mapping.templates.participants ? openState(name) : undefined;
    const { findExact, listPublished } = createItemReaders(read, mapping.forEach, config.hooks);
    const mappingRun: MappingRun = {
      mapping,
      request: read,
      config,
      channels,
      tools,
      run: time?.run ?? run,
      isEcho,
      hasSpoken,
      findSent,
      changes,
      isOwn,
      budget: createBudget(request.rawBody.length, findExact),
      log,
      state: state === false ? undefined : kept,
      people: kept,
      listPublished,
      sessions: mappings.sessions.ofMapping(mapping),
    };
    const items = mapping.forEach
      ? await resolveEach(mapping.forEach, mappingRun)
      : [await resolveItem({ payload: read.payload }, mappingRun)];
    return toResolution(items, mappingRun, time?.usedMs());
  } catch (error) {
    throw withDetail(error, { mapping: mapping.source.id, log });
  }
}

function requireValidKey({ idempotencyKey }: HookRequest): void {
  if (idempotencyKey !== undefined) requireIdempotencyKey(idempotencyKey);
}

/** No signature covers the header `Idempotency-Key`: with another one, a captured request would not be recognized by `dedupe`. */
function withCountingKey(request: HookRequest, { credential, templates }: CompiledMapping): HookRequest {
  const isIgnored = request.idempotencyKey !== undefined && credential !== undefined && templates.dedupe !== undefined;
  return isIgnored ? { ...request, idempotencyKey: undefined } : request;
}

/** The limit of the path, which was checked before, may be that of another mapping. */
function requireBodySize({ rawBody }: HookRequest, maxBodyBytes: number): void {
  if (rawBody.length <= maxBodyBytes) return;
  throw bodyTooLarge(maxBodyBytes);
}

/** The request of a mail service, whose payload also holds the mail as the mail hook takes it; any other as it is. */
export async function withMail(
  request: HookRequest,
  { mail }: Pick<MappingInput, "mail">,
  readMail: ResolveOptions["readMail"],
): Promise<HookRequest> {
  if (mail === undefined) return request;
  return { ...request, payload: await readMail(mail, request), payloadIsBody: false, readExact: undefined };
}

/** The items of a request as they are rarely needed. Each list is made once. */
function createItemReaders(
  request: HookRequest,
  forEach: ForEach | undefined,
  { maxFanOut, redact }: Terms["config"]["hooks"],
): Pick<MappingRun, "listPublished"> & { findExact(item: number): object | undefined } {
  const { payloadIsBody } = request;
  let exact: Item[] | undefined;
  let published: Item[] | undefined;
  return {
    findExact(item) {
      const payload = findExactPayload(request);
      if (payload === undefined) return undefined;
      exact ??= forEach ? fanOut({ payload, payloadIsBody }, forEach, maxFanOut) : [{ payload }];
      const found = exact[item];
      return found && toContext(found, request);
    },
    listPublished() {
      if (published) return published;
      const payload = redactPayload(exactPayload(request), redact);
      // A list that is redacted itself is no list any more.
      published = forEach ? fanOut({ payload, payloadIsBody: false }, forEach, Infinity) : [{ payload }];
      return published;
    },
  };
}

async function resolveEach(forEach: ForEach, mappingRun: MappingRun): Promise<ResolvedItem[]> {
  const { maxFanOut } = mappingRun.config.hooks;
  const items: ResolvedItem[] = [];
  let actions = 0;
  for (const item of fanOut(mappingRun.request, forEach, maxFanOut)) {
    const resolved = await resolveItem(item, mappingRun);
    items.push(resolved);
    actions += resolved.actions.length;
    // Before the other items are resolved.
    requireFanOut(actions, maxFanOut);
  }
  return items;
}

function toResolution(
  items: ResolvedItem[],
  { mapping, request, config, log, people }: MappingRun,
  transformMs: number | undefined,
): Resolution {
  const actions: Resolution["actions"] = [];
  const publications: NonNullable<Resolution["publications"]> = [];
  const warnings: string[] = [];
  for (const [index, item] of items.entries()) {
    const { publication } = item;
    const action = actions.length;
    if (publication) publications.push(mapping.forEach ? { action, publication, index } : { action, publication });
    actions.push(...item.actions);
    for (const warning of item.warnings) if (!warnings.includes(warning)) warnings.push(warning);
  }
  requireFanOut(actions.length, config.hooks.maxFanOut);
  if (actions.length > 0) log.push(...describeSkipped(items));
  const [first] = items;
  return {
    mapping: mapping.source.id,
    event: items.find(({ event }) => event !== undefined)?.event,
    subject: items.find(({ subject }) => subject !== undefined)?.subject,
    actions,
    publications: publications.length > 0 ? publications : undefined,
    reason: actions.length > 0 ? undefined : (first?.reason ?? `${mapping.forEach?.text} lists nothing`),
    leftOutBy: actions.length > 0 ? undefined : first?.leftOutBy,
    idempotency: toIdempotency(request, mapping, items),
    warnings,
    log,
    state: people?.result(),
    transformMs,
  };
}

const MAX_DESCRIBED = 10;

/** For the operator: which items gave no action while others did, by their `index`. */
function describeSkipped(items: ResolvedItem[]): LogLine[] {
  const lines = items.flatMap(({ reason }, index) =>
    reason === undefined ? [] : [`item ${index} is skipped: ${reason}`],
  );
  const more = lines.length - MAX_DESCRIBED;
  if (more > 0) lines.splice(MAX_DESCRIBED, more, `${more} more items are skipped`);
  return lines.map((text) => ({ level: "info", text }));
}

/** The caller's own key takes precedence over the mapping's. */
function toIdempotency(
  { idempotencyKey }: HookRequest,
  { templates, forEach }: CompiledMapping,
  items: ResolvedItem[],
): Resolution["idempotency"] {
  if (idempotencyKey !== undefined) return toChosenKey(idempotencyKey);
  if (!templates.dedupe) return undefined;
  return forEach ? toItemKeys(items) : toEventKey(items[0]?.dedupe);
}

type Parsed = Pick<HookRequest, "payload" | "payloadIsBody">;

/** One item per element of the `forEach` lists; none if a list is missing or null. */
function fanOut({ payload, payloadIsBody }: Parsed, forEach: ForEach, maxFanOut: number): Item[] {
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
