import { createHash } from "node:crypto";
import type { HookError } from "../errors.ts";
import type { SignedIdentity } from "../ports/signature.ts";
import { exactPayload } from "../shared/exact-json.ts";
import { createId } from "../shared/id.ts";
import { type PayloadPath, redact, redactPayload } from "../shared/secret.ts";
import { toFirstLine } from "../shared/text/text.ts";
import { currentTraceparent } from "../telemetry/traces.ts";
import {
  type AgentAction,
  type HookAction,
  type HookRequest,
  type Resolution,
  type WakeAction,
  withoutAllow,
} from "../types.ts";
import type { CoalesceWindow, Idempotency, NewAction, NewEntry, NewEvent, StoredRequest, Timings } from "./journal.ts";

export interface EventOptions {
  dedupeWindowMs: number;
  /** How long the resolution took; undefined if there was no mapping to ask. */
  mappingMs?: number;
  /** Paths of secrets in a payload; they are not stored. */
  redact: readonly PayloadPath[];
  toSystemEvent(action: WakeAction, context: { eventId: string; hook: string; at: number }): NewEntry;
}

/** The event of a resolved request, which the journal commits before the answer. */
export function toEvent(request: HookRequest, resolution: Resolution, options: EventOptions): NewEvent {
  const { mapping, event, actions, reason, leftOutBy, warnings, log, state, transformMs } = resolution;
  const { subject = firstLineOf(actions) } = resolution;
  const { toSystemEvent, mappingMs } = options;
  return {
    ...toRequestFields(request, options.redact),
    mapping,
    event,
    subject,
    status: actions.length > 0 ? "accepted" : "skipped",
    reason,
    leftOutBy,
    actions: withPublications(
      actions.map((action) => toNewAction(action, request, { mapping, toSystemEvent })),
      request,
      resolution.publications,
    ),
    idempotency: toIdempotency(request, resolution, options.dedupeWindowMs),
    state,
    warnings: [...(request.warnings ?? []), ...warnings],
    log,
    timings: toTimings(request.timings, mappingMs, transformMs),
  };
}

/** The first line with text of the first message. */
function firstLineOf([action]: HookAction[]): string | undefined {
  if (!action || action.kind === "none") return undefined;
  return toFirstLine(action.kind === "agent" ? action.message : action.text);
}

/** Rounded to tenths. */
function toTimings(
  request: HookRequest["timings"],
  mappingMs: number | undefined,
  transformMs?: number,
): Timings | undefined {
  if (request === undefined && mappingMs === undefined) return undefined;
  const { receiveMs, verifyMs }: Timings = request ?? {};
  return {
    receiveMs: toTenths(receiveMs),
    verifyMs: toTenths(verifyMs),
    mappingMs: toTenths(mappingMs),
    transformMs: toTenths(transformMs),
  };
}

function toTenths(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.round(ms * 10) / 10;
}

/** The event of a refused request, for the operator to see. It has no actions. */
export function toRefusedEvent(
  request: HookRequest,
  error: HookError,
  options: Pick<EventOptions, "redact" | "mappingMs">,
): NewEvent {
  const { mapping, message, trace, log = [] } = error.detail;
  return {
    ...toRequestFields(request, options.redact),
    mapping,
    status: error.status < 500 ? "rejected" : "failed",
    actions: [],
    warnings: request.warnings ?? [],
    log,
    // After a 503 the schedule tries again.
    idempotency:
      request.onceUntil === undefined || error.status === 503
        ? undefined
        : toIdempotency(request, { idempotency: toOnceKey(request) }, 0),
    timings: toTimings(request.timings, options.mappingMs),
    failure: { code: error.code, message: error.message, detail: trace || message },
  };
}

/** Idempotency keys are unique within one credential and hook. */
export function idempotencyScope(request: HookRequest): string {
  return `${request.credential} ${request.hook}`;
}

export function fingerprintOf({ contentType, rawBody, payload }: HookRequest): string {
  // The boundary of a multipart form is another one in each attempt.
  const content = /^multipart\//i.test(contentType) ? JSON.stringify(payload) : rawBody;
  return createHash("sha256").update(content).digest("base64url");
}

function toNewAction(
  action: HookAction,
  { id: eventId, hook, receivedAt: at, replayOf }: HookRequest,
  { mapping, toSystemEvent }: { mapping?: string; toSystemEvent: EventOptions["toSystemEvent"] },
): NewAction {
  if (action.kind === "agent") {
    const isReplay = replayOf !== undefined;
    // The first event may have executed what needed nobody.
    const own = isReplay && action.grants ? { ...action, grants: withoutAllow(action.grants) } : action;
    const window = toWindow(own, { mapping, hook, at, replay: isReplay ? eventId : undefined });
    return { action: own, runId: createId(), window };
  }
  if (action.kind === "none") return { action };
  return { action, entry: toSystemEvent(action, { eventId, hook, at }) };
}

function withPublications(
  actions: NewAction[],
  { id, receivedAt: at }: HookRequest,
  publications: Resolution["publications"] = [],
): NewAction[] {
  const byAction = new Map(publications.map((one) => [one.action, one]));
  return actions.map((action, index) => {
    const found = byAction.get(index);
    if (!found) return action;
    const place = found.index === undefined ? id : `${id}.${found.index}`;
    return { ...action, publication: { ...found.publication, id: place, at } };
  });
}

/**
 * Actions that share a run have one origin, are all inside the safety boundary or all outside, and are all a stranger's or
 * none. A replay shares its run with no other event: a new event has other grants.
 */
function toWindow(
  { coalesce, allowUnsafeExternalContent, stranger }: AgentAction,
  { mapping, hook, at, replay }: { mapping?: string; hook: string; at: number; replay?: string },
): CoalesceWindow | undefined {
  if (!coalesce) return undefined;
  const key = JSON.stringify([mapping, hook, allowUnsafeExternalContent, stranger, coalesce.key, replay]);
  return { key, closesAt: at + coalesce.windowMs };
}

/** The header cannot hold such a key: it has a space. */
export function toSignatureKey({ digest }: SignedIdentity): string {
  return `signature ${digest}`;
}

function toIdempotency(
  request: HookRequest,
  { idempotency = NO_KEYS }: Pick<Resolution, "idempotency">,
  dedupeWindowMs: number,
): Idempotency | undefined {
  const { signature, receivedAt, onceUntil } = request;
  if (idempotency === NO_KEYS && !signature) return undefined;
  return {
    ...idempotency,
    isOnce: onceUntil === undefined ? undefined : true,
    scope: idempotencyScope(request),
    fingerprint: fingerprintOf(request),
    expiresAt: Math.max(receivedAt + dedupeWindowMs, onceUntil ?? 0),
    signature: signature && {
      key: toSignatureKey(signature),
      // Not before the time of its signature refuses it.
      expiresAt: receivedAt + Math.max(dedupeWindowMs, signature.validMs ?? 0),
      isContentUnsigned: signature.isBodyUnsigned,
    },
  };
}

/** The time of a schedule is one key, and all that is made of it has the same content. */
function toOnceKey({ idempotencyKey = "" }: HookRequest): Resolution["idempotency"] {
  return { keys: [idempotencyKey], perAction: false, conflictOnOtherContent: false };
}

const NO_KEYS: NonNullable<Resolution["idempotency"]> = { keys: [], perAction: false, conflictOnOtherContent: false };

/** W3C Trace Context, version 00 and later. An id of zeros is invalid. */
const TRACEPARENT = /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/;

function toTraceparent({ traceparent }: HookRequest["headers"]): string | undefined {
  return traceparent !== undefined && TRACEPARENT.test(traceparent) ? traceparent : undefined;
}

type RequestFields = Pick<
  NewEvent,
  "id" | "hook" | "receivedAt" | "replayOf" | "credential" | "traceparent" | "request"
>;

/** Without the values of secret headers and query parameters, and without what the paths lead to. */
function toRequestFields(request: HookRequest, secrets: readonly PayloadPath[]): RequestFields {
  const { id, hook, receivedAt, replayOf, credential } = request;
  return {
    id,
    hook,
    receivedAt,
    replayOf,
    credential,
    traceparent: currentTraceparent() ?? toTraceparent(request.headers),
    request: toStoredRequest(request, secrets),
  };
}

/** A request without its secrets. */
export function toStoredRequest(request: HookRequest, secrets: readonly PayloadPath[]): StoredRequest {
  const { method, path, client } = request;
  const [query, headers] = [redact(request.query), redact(request.headers)];
  return { method, path, query, headers, ...toStoredBody(request, secrets), client };
}

/** The original bytes, unless there are none or a path leads to something in the payload: then JSON. */
function toStoredBody(
  request: HookRequest,
  secrets: readonly PayloadPath[],
): Pick<StoredRequest, "contentType" | "body"> {
  const { contentType, rawBody, payload } = request;
  // Not parsed: the paths cannot be followed.
  if (payload === undefined) return { contentType, body: secrets.length === 0 ? rawBody : Buffer.alloc(0) };
  // A body without bytes would count as not stored.
  if (redactPayload(payload, secrets) === payload && rawBody.length > 0) return { contentType, body: rawBody };
  const redacted = redactPayload(exactPayload(request), secrets);
  return { contentType: "application/json", body: Buffer.from(JSON.stringify(redacted)) };
}
