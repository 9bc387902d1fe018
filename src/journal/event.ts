import { createHash } from "node:crypto";
import { createId } from "../create-id.ts";
import type { HookAction, HookRequest, Resolution, WakeAction } from "../types.ts";
import type { HookError } from "../errors.ts";
import type { EventFailure, Idempotency, NewAction, NewEntry, NewEvent, StoredRequest } from "./port.ts";
import { redact } from "./redact.ts";

export interface EventOptions {
  dedupeWindowMs: number;
  toSystemEvent(
    action: WakeAction,
    context: { eventId: string; hook: string; source: string; at: number },
  ): NewEntry;
}

/** The event that a resolved request becomes: what the journal commits before the answer. */
export function toEvent(request: HookRequest, resolution: Resolution, options: EventOptions): NewEvent {
  return {
    id: request.id,
    hook: request.hook,
    mapping: resolution.mapping,
    status: resolution.actions.length > 0 ? "accepted" : "skipped",
    receivedAt: request.receivedAt,
    request: toStoredRequest(request),
    actions: resolution.actions.map((action) => toNewAction(action, request, options)),
    idempotency: toIdempotency(request, resolution, options.dedupeWindowMs),
    warnings: resolution.warnings,
    log: resolution.log,
  };
}

/** The event that a refused request leaves behind for the operator; it dispatches nothing. */
export function toRefusedEvent(request: HookRequest, error: HookError): NewEvent {
  return {
    id: request.id,
    hook: request.hook,
    mapping: detailOf(error).mapping,
    status: error.status < 500 ? "rejected" : "failed",
    receivedAt: request.receivedAt,
    request: toStoredRequest(request),
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

function toNewAction(action: HookAction, request: HookRequest, options: EventOptions): NewAction {
  if (action.kind === "agent") return { action, runId: createId() };
  const { id: eventId, hook, receivedAt: at } = request;
  return { action, entry: options.toSystemEvent(action, { eventId, hook, source: `webhook ${hook}`, at }) };
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

function toStoredRequest(request: HookRequest): StoredRequest {
  return {
    method: request.method,
    path: request.path,
    query: redact(request.query),
    headers: redact(request.headers),
    contentType: request.contentType,
    body: request.rawBody,
    client: request.client,
  };
}

function toFailure(error: HookError): EventFailure {
  const { message, trace } = detailOf(error);
  const detail = [message, trace].filter(Boolean).join("\n");
  return { code: error.code, message: error.message, detail: detail || undefined };
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
