import type { IncomingHttpHeaders } from "node:http";
import type { ResolvedConfig } from "../config/resolved-config.ts";
import { exactPayload } from "../shared/exact-json.ts";
import { OPENCLAW_TOKEN_HEADER, SECRET_HEADERS, TOKEN_HEADER, TOKEN_PARAMETER } from "../shared/secret.ts";
import type { HookRequest } from "../types.ts";
import type { AuthenticatorRequest, Verified } from "./authenticator.ts";
import { NO_BODY } from "./body.ts";
import type { Exchange } from "./exchange.ts";

/** The request as its authenticator sees it, with all its secrets. */
export function toAuthenticatorRequest(
  { method, headers, rawHeaders, path, search }: Exchange,
  hook: string | undefined,
  compat: ResolvedConfig["hooks"]["compat"],
  readBody: AuthenticatorRequest["readBody"],
): AuthenticatorRequest {
  const query = search === "" ? {} : Object.fromEntries(new URLSearchParams(search));
  const known = compat === "openclaw" ? withOpenClawNames(headers) : headers;
  return { hook, method, headers: known, rawHeaders, query, path, search, receivedAt: Date.now(), readBody };
}

/** Headers under OpenClaw's names have our names too. A header under our own name takes precedence. */
function withOpenClawNames(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return {
    ...headers,
    [TOKEN_HEADER]: headers[TOKEN_HEADER] ?? headers[OPENCLAW_TOKEN_HEADER],
    "idempotency-key": headers["idempotency-key"] ?? headers["x-openclaw-idempotency-key"],
  };
}

/** The request of a sender that is known. Its body is read into it. */
export function toHookRequest(
  { id, client }: Exchange,
  { method, path, query, headers, receivedAt }: AuthenticatorRequest,
  hook: string,
  { credential, secrets, signature }: Pick<Verified, "credential" | "secrets" | "signature">,
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
    signature,
    idempotencyKey: typeof idempotencyKey === "string" && idempotencyKey !== "" ? idempotencyKey : undefined,
  };
}

/** A refused request as it came. Its headers are not hidden. */
export function toRefusedRequest(
  exchange: Exchange,
  hook: string,
  compat: ResolvedConfig["hooks"]["compat"],
  rawBody: Buffer,
): HookRequest {
  const seen = toAuthenticatorRequest(exchange, hook, compat, async () => rawBody);
  const request = toHookRequest(exchange, seen, hook, { credential: "" });
  return { ...request, rawBody, headers: joinHeaders(exchange.headers) };
}

function joinHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value = ""]) => [name, [value].flat().join(", ")]));
}

function withoutToken(query: Record<string, string>): Record<string, string> {
  if (query[TOKEN_PARAMETER] === undefined) return query;
  const { [TOKEN_PARAMETER]: _token, ...others } = query;
  return others;
}

/** The bytes show what the payload hides, so they are replaced too. */
export function hidePayload(request: HookRequest, hideSecrets: NonNullable<Verified["hideSecrets"]>): void {
  const payload = hideSecrets(request.payload);
  if (payload === request.payload) return;
  const rawBody = Buffer.from(JSON.stringify(hideSecrets(exactPayload(request))));
  Object.assign(request, {
    payload,
    rawBody,
    payloadIsBody: true,
    readExact: undefined,
    contentType: "application/json",
  });
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
