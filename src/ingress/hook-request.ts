import type { IncomingHttpHeaders } from "node:http";
import { OPENCLAW_TOKEN_HEADER, SECRET_HEADERS, TOKEN_HEADER, TOKEN_PARAMETER } from "../shared/secret.ts";
import type { HookRequest } from "../types.ts";
import type { DoorRequest, Verified } from "./doors.ts";
import type { Exchange } from "./exchange.ts";

const NO_BODY = Buffer.alloc(0);

/** The request behind its door, before its body is read. */
export function toHookRequest(
  { id, client }: Exchange,
  { method, path, query, headers, receivedAt }: DoorRequest,
  { hook, credential, secrets }: Pick<HookRequest, "hook" | "credential"> & Pick<Verified, "secrets">,
): HookRequest {
  const idempotencyKey = headers["idempotency-key"];
  return {
    id,
    method,
    path,
    hook,
    credential,
    query: withoutToken(query),
    headers: toVisibleHeaders(headers, secrets),
    rawBody: NO_BODY,
    payload: undefined,
    payloadIsBody: false,
    contentType: headers["content-type"] ?? "",
    receivedAt,
    client,
    ...(typeof idempotencyKey === "string" && idempotencyKey !== "" && { idempotencyKey }),
  };
}

function withoutToken({ [TOKEN_PARAMETER]: _token, ...query }: Record<string, string>): Record<string, string> {
  return query;
}

/** The bytes show what the payload hides, so they are replaced too. */
export function hideSecrets(request: HookRequest, hide: NonNullable<Verified["hideSecrets"]>): void {
  const payload = hide(request.payload);
  if (payload === request.payload) return;
  const rawBody = Buffer.from(JSON.stringify(payload));
  Object.assign(request, { payload, rawBody, payloadIsBody: true, contentType: "application/json" });
}

/**
 * Copies the headers that templates, transforms and the journal may see; repeated ones are joined by `, `. Those whose
 * value is one of `secrets` are left out.
 */
export function toVisibleHeaders(
  headers: IncomingHttpHeaders,
  secrets: readonly string[] = [],
): Record<string, string> {
  const visible: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || SECRET_HEADERS.has(name)) continue;
    const text = typeof value === "string" ? value : value.join(", ");
    if (!secrets.includes(text)) visible[name] = text;
  }
  return visible;
}

/** Headers under OpenClaw's names have our names too. A header under our own name takes precedence. */
export function withOpenClawNames(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return {
    ...headers,
    [TOKEN_HEADER]: headers[TOKEN_HEADER] ?? headers[OPENCLAW_TOKEN_HEADER],
    "idempotency-key": headers["idempotency-key"] ?? headers["x-openclaw-idempotency-key"],
  };
}
