import { createHash } from "node:crypto";
import type { HookError } from "../errors.ts";
import { createId } from "../shared/id.ts";
import { type PayloadPath, redact, redactPayload } from "../shared/secret.ts";
import type { AgentAction, HookAction, HookRequest, Resolution, WakeAction } from "../types.ts";
import type {
  CoalesceWindow,
  EventFailure,
  Idempotency,
  NewAction,
  NewEntry,
  NewEvent,
  StoredRequest,
} from "./journal.ts";

export interface EventOptions {
  dedupeWindowMs: number;
  /** Where in a payload secrets stand that are not kept. */
  redact: readonly PayloadPath[];
  toSystemEvent(action: WakeAction, context: { eventId: string; hook: string; source: string; at: number }): NewEntry;
}

/** The event that a resolved request becomes: what the journal commits before the answer. */
export function toEvent(request: HookRequest, resolution: Resolution, options: EventOptions): NewEvent {
  return {
    id: request.id,
    hook: request.hook,
    mapping: resolution.mapping,
    status: resolution.actions.length > 0 ? "accepted" : "skipped",
    receivedAt: request.receivedAt,
    replayOf: request.replayOf,
    request: toStoredRequest(request, options.redact),
    actions: resolution.actions.map((action) => toNewAction(action, { request, mapping: resolution.mapping, options })),
    idempotency: toIdempotency(request, resolution, options.dedupeWindowMs),
    warnings: resolution.warnings,
    log: resolution.log,
  };
}

/** The event that a refused request leaves behind for the operator; it dispatches nothing. */
export function toRefusedEvent(
  request: HookRequest,
  error: HookError,
  options: Pick<EventOptions, "redact">,
): NewEvent {
  return {
    id: request.id,
    hook: request.hook,
    mapping: detailOf(error).mapping,
    status: error.status < 500 ? "rejected" : "failed",
    receivedAt: request.receivedAt,
    replayOf: request.replayOf,
    request: toStoredRequest(request, options.redact),
    actions: [],
    warnings: [],
    log: detailOf(error).log ?? [],
    failure: toFailure(error),
  };
}

/** What keys are unique within: one credential's requests to one hook. */
export function idempotencyScope(request: HookRequest): string {
  return `${request.credential} ${request.hook}`;
}

export function fingerprintOf(request: HookRequest): string {
  return createHash("sha256").update(request.rawBody).digest("base64url");
}

interface ActionOrigin {
  request: HookRequest;
  mapping: string | undefined;
  options: EventOptions;
}

function toNewAction(action: HookAction, { request, mapping, options }: ActionOrigin): NewAction {
  if (action.kind === "agent") {
    return { action, runId: createId(), window: toWindow(action, mapping, request) };
  }
  const { id: eventId, hook, receivedAt: at } = request;
  return { action, entry: options.toSystemEvent(action, { eventId, hook, source: `webhook ${hook}`, at }) };
}

/** What shares a run has one origin, and all of it stands inside the boundary or all of it outside. */
function toWindow(
  { coalesce, allowUnsafeExternalContent }: AgentAction,
  mapping: string | undefined,
  { hook, receivedAt }: HookRequest,
): CoalesceWindow | undefined {
  if (!coalesce) return undefined;
  const key = JSON.stringify([mapping, hook, allowUnsafeExternalContent, coalesce.key]);
  return { key, closesAt: receivedAt + coalesce.windowMs };
}

function toIdempotency(
  request: HookRequest,
  { idempotency }: Resolution,
  dedupeWindowMs: number,
): Idempotency | undefined {
  if (!idempotency) return undefined;
  return {
    ...idempotency,
    scope: idempotencyScope(request),
    fingerprint: fingerprintOf(request),
    expiresAt: request.receivedAt + dedupeWindowMs,
  };
}

function toFailure(error: HookError): EventFailure {
  const { message, trace } = detailOf(error);
  // A trace begins with the message.
  return { code: error.code, message: error.message, detail: trace || message };
}

/** What the mapping step hangs on its errors for the operator. */
interface RefusalDetail {
  mapping?: string;
  message?: string;
  trace?: string;
  log?: Resolution["log"];
}

function detailOf(error: HookError): RefusalDetail {
  return typeof error.detail === "object" && error.detail !== null ? error.detail : {};
}

/** The request as it is kept: without the values of headers and query parameters that bear secrets, or what the paths lead to. */
function toStoredRequest(request: HookRequest, secrets: readonly PayloadPath[]): StoredRequest {
  return {
    method: request.method,
    path: request.path,
    query: redact(request.query),
    headers: redact(request.headers),
    ...toStoredBody(request, secrets),
    client: request.client,
  };
}

const NOTHING = Buffer.alloc(0);

/** Byte for byte as it came, unless a path leads to something in it: then as JSON. */
function toStoredBody(
  { contentType, rawBody, payload }: HookRequest,
  secrets: readonly PayloadPath[],
): Pick<StoredRequest, "contentType" | "body"> {
  if (secrets.length === 0) return { contentType, body: rawBody };
  // It could not be read, so nobody knows what stands where in it.
  if (payload === undefined) return { contentType, body: NOTHING };
  const redacted = redactPayload(payload, secrets);
  if (redacted === payload) return { contentType, body: rawBody };
  return { contentType: "application/json", body: Buffer.from(JSON.stringify(redacted)) };
}
