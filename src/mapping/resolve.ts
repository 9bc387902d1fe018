import type { MappingInput } from "../config/schema/generated.ts";
import { HookError } from "../errors.ts";
import { type Path, readPath, replaceAt } from "../shared/json.ts";
import type { HookRequest, LogLine, Resolution } from "../types.ts";
import { requireValid, resolveBuiltIn } from "./built-in.ts";
import type { CompiledMapping, ForEach } from "./compile.ts";
import { type Item, type Job, type ResolvedItem, resolveItem } from "./item.ts";
import { requireIdempotencyKey, toChosenKey, toEventKey, toItemKeys } from "./keys.ts";
import { isBuiltInHook, type MappingIndex } from "./mapping-index.ts";
import type { Terms } from "./policy.ts";
import { createBudget } from "./template/template.ts";
import { countTime } from "./transform.ts";

export interface ResolveOptions extends Pick<Job, "config" | "channels" | "run" | "isEcho"> {
  mappings: MappingIndex;
}

/**
 * The whole mapping step: match → schema → forEach → template → transform → policy. Gives the actions of a request; none
 * if its mapping skips it. Waits only for the transform, `isEcho`, or a mail that is read. Throws a `HookError` for what the
 * caller may know.
 */
export async function resolveRequest(
  request: HookRequest,
  { mappings, config, channels, run, isEcho }: ResolveOptions,
): Promise<Resolution> {
  const { hook } = request;
  if (request.idempotencyKey !== undefined) requireIdempotencyKey(request.idempotencyKey);
  if (isBuiltInHook(hook)) {
    const { action, idempotencyKey, warnings } = resolveBuiltIn(hook, request.payload, { config, channels });
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
    requireBodySize(request, mapping.source.mapping.maxBodyBytes ?? config.hooks.maxBodyBytes);
    const { mail } = mapping.source.mapping;
    const read = mail === undefined ? request : await withMail(request, mail, config);
    if (mapping.check) requireValid(mapping.check, read.payload);
    const budget = createBudget(request.rawBody.length);
    const resolving = resolveItems({ mapping, request: read, config, channels, run, isEcho, budget, log });
    return resolving instanceof Promise ? await resolving : resolving;
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

function resolveItems(job: Job): Resolution | Promise<Resolution> {
  const time = job.mapping.bundle && countTime(job.run);
  const itemJob = time ? { ...job, run: time.run } : job;
  if (job.mapping.forEach) return resolveEach(job.mapping.forEach, itemJob).then(finish);
  const resolving = resolveItem({ payload: job.request.payload }, itemJob);
  return resolving instanceof Promise ? resolving.then((item) => finish([item])) : finish([resolving]);

  function finish(items: ResolvedItem[]): Resolution {
    return { ...toResolution(items, job), transformMs: time?.usedMs() };
  }
}

async function resolveEach(forEach: ForEach, job: Job): Promise<ResolvedItem[]> {
  const { maxFanOut } = job.config.hooks;
  const items: ResolvedItem[] = [];
  let actions = 0;
  for (const item of fanOut(job.request, forEach, maxFanOut)) {
    const resolving = resolveItem(item, job);
    const resolved = resolving instanceof Promise ? await resolving : resolving;
    items.push(resolved);
    actions += resolved.actions.length;
    // Before the other items are resolved.
    requireFanOut(actions, maxFanOut);
  }
  return items;
}

function toResolution(items: ResolvedItem[], { mapping, request, config, log }: Job): Resolution {
  const actions = items.flatMap((item) => item.actions);
  requireFanOut(actions.length, config.hooks.maxFanOut);
  const [reason = `${mapping.forEach?.text} lists nothing`] = items.flatMap((item) => item.reason ?? []);
  const warnings = items.flatMap((item) => item.warnings);
  return {
    mapping: mapping.source.id,
    event: items.find(({ event }) => event !== undefined)?.event,
    actions,
    reason: actions.length > 0 ? undefined : reason,
    idempotency: toIdempotency(request, mapping, items),
    warnings: warnings.length > 1 ? [...new Set(warnings)] : warnings,
    log,
  };
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

/** One item per element of the `forEach` lists; none if a list is missing or null. */
function fanOut({ payload, payloadIsBody }: HookRequest, forEach: ForEach, maxFanOut: number): Item[] {
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
