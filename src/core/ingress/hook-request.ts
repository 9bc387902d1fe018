import type { IncomingHttpHeaders } from "node:http";
import type { ResolvedConfig } from "../config/resolved-config.ts";
import { HookError } from "../errors.ts";
import type { EventRecord, StoredRequest } from "../journal/journal.ts";
import { exactPayload } from "../shared/exact-json.ts";
import { createId } from "../shared/id.ts";
import { type Recurrence, toWallTime } from "../shared/recurrence.ts";
import { OPENCLAW_TOKEN_HEADER, REDACTED, SECRET_HEADERS, TOKEN_HEADER, TOKEN_PARAMETER } from "../shared/secret.ts";
import { trimSlashes } from "../shared/text/text.ts";
import { ANY_CREDENTIAL, type HookRequest, toScheduleCredential, toScheduleHook } from "../types.ts";
import type { AuthenticatorRequest, Verified } from "./authenticator.ts";
import { NO_BODY } from "./body.ts";
import type { Exchange } from "./exchange.ts";
import { type FindParser, isJson, type ParseBody, parseJsonBody } from "./parse-body.ts";

// Every `HookRequest` is made here: of a socket, a refusal, a stored event, an event that was caught up, a schedule, a sample.

/** The request as its authenticator sees it, with all its secrets. */
export function toAuthenticatorRequest(
  { method, headers, rawHeaders, path, search, client }: Exchange,
  hook: string | undefined,
  compat: ResolvedConfig["hooks"]["compat"],
  readBody: AuthenticatorRequest["readBody"],
): AuthenticatorRequest {
  const query = search === "" ? {} : Object.fromEntries(new URLSearchParams(search));
  const known = compat === "openclaw" ? withOpenClawNames(headers) : headers;
  return { hook, method, headers: known, rawHeaders, query, path, search, client, receivedAt: Date.now(), readBody };
}

/** Headers under OpenClaw's names have our names too. A header under our own name takes precedence. */
function withOpenClawNames(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return {
    ...headers,
    [TOKEN_HEADER]: headers[TOKEN_HEADER] ?? headers[OPENCLAW_TOKEN_HEADER],
    "idempotency-key": headers["idempotency-key"] ?? headers["x-openclaw-idempotency-key"],
  };
}

/** The request of a sender that is known. Its payload is parsed later. */
export function toHookRequest(
  { id, client }: Exchange,
  { method, path, query, headers, receivedAt }: AuthenticatorRequest,
  hook: string,
  {
    verified: { credential, secrets, signature, isProvedByButton },
    rawBody = NO_BODY,
  }: {
    verified: Pick<Verified, "credential" | "secrets" | "signature" | "isProvedByButton">;
    rawBody?: Buffer;
  },
): HookRequest {
  const idempotencyKey = headers["idempotency-key"];
  return {
    id,
    method,
    path,
    hook,
    credential,
    isProvedByButton,
    query: withoutToken(query),
    headers: toVisibleHeaders(headers, secrets),
    rawBody,
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
  const request = toHookRequest(exchange, seen, hook, { verified: { credential: "" }, rawBody });
  return { ...request, headers: joinHeaders(exchange.headers) };
}

/**
 * The request of a stored event, without an idempotency key, and without the headers and query parameters whose values were
 * not stored. Rejects with a 409 `HookError` when the body was not stored.
 */
export async function toStoredRequest(event: EventRecord, findParser: FindParser): Promise<HookRequest> {
  const { body, query, headers, ...head } = event.request;
  if (body.length === 0) throw new HookError("no_stored_body");
  return {
    ...head,
    ...toOrigin(event),
    query: withoutRedacted(query),
    headers: withoutRedacted(headers),
    rawBody: body,
    ...(await findParser(head.contentType, event.hook)(body, event.receivedAt)),
    receivedAt: event.receivedAt,
  };
}

/** The request of a stored event, to be run again as a new one. Rejects as `toStoredRequest` does. */
export async function toReplayRequest(event: EventRecord, findParser: FindParser): Promise<HookRequest> {
  const stored = await toStoredRequest(event, findParser);
  return { ...stored, id: createId(), replayOf: event.id, receivedAt: Date.now() };
}

/** A stored event as the operator API shows it: with the payload instead of the body's bytes. */
interface ShownEvent extends Pick<EventRecord, "id" | "hook" | "credential"> {
  receivedAt: string;
  request: Omit<StoredRequest, "body"> & { payload: unknown };
}

/** The request of a stored event that the operator API has shown; undefined if its body was not stored. */
export function toShownRequest(event: ShownEvent): HookRequest | undefined {
  const { payload, ...head } = event.request;
  if (payload === "") return undefined;
  const isText = typeof payload === "string";
  const text = isText ? payload : JSON.stringify(payload);
  return {
    ...head,
    ...toOrigin(event),
    rawBody: Buffer.from(text),
    payload: isText ? payload : JSON.parse(text),
    // In a form or XML, a single value counts as a list of one.
    payloadIsBody: !isText && isJson(head.contentType),
    receivedAt: Date.parse(event.receivedAt),
  };
}

/** Older versions did not store the credential, and had only `hooks.token`. */
function toOrigin({ id, hook, credential = "token:default" }: Pick<EventRecord, "id" | "hook" | "credential">) {
  return { id, hook, credential };
}

/** Without values that were not stored. */
export function withoutRedacted(values: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== REDACTED));
}

/** An event that its sender could not deliver, under its credential, and so with the same keys against repeats. */
export async function toCaughtUpRequest(
  { hook, hooksPath, credential, event }: { hook: string; hooksPath: string; credential: string; event: object },
  findParser: FindParser,
): Promise<HookRequest> {
  const rawBody = Buffer.from(JSON.stringify(event));
  const request = toJsonRequest({ hook, hooksPath, credential });
  return {
    ...request,
    rawBody,
    ...(await findParser("application/json", hook)(rawBody, request.receivedAt)),
    client: "catch-up",
    isCaughtUp: true,
  };
}

/** The body of a schedule's event. */
export function toScheduleBody(id: string, at: number, recurrence: Recurrence): object {
  return { schedule: id, at: new Date(at).toISOString(), local: toWallTime(at, recurrence) };
}

/** The event of a schedule. `onceUntil`: `at` is one of its times, so it is its key; absent: it is the present. */
export function toScheduleRequest({
  id,
  at,
  recurrence,
  hooksPath,
  onceUntil,
}: {
  id: string;
  at: number;
  recurrence: Recurrence;
  hooksPath: string;
  onceUntil?: number;
}): HookRequest {
  const rawBody = Buffer.from(JSON.stringify(toScheduleBody(id, at, recurrence)));
  return {
    ...toJsonRequest({ hook: toScheduleHook(id), hooksPath, credential: toScheduleCredential(id) }),
    rawBody,
    ...parseJsonBody(rawBody),
    client: "schedule",
    onceUntil,
    idempotencyKey: onceUntil === undefined ? undefined : new Date(at).toISOString(),
  };
}

/** A request that is only tried. */
export interface Sample {
  hook: string;
  payload: unknown;
  headers?: Record<string, string>;
  query?: Record<string, string>;
  /** Default: JSON of the payload. */
  rawBody?: Buffer;
  /** Milliseconds since the epoch. Default: now. */
  receivedAt?: number;
}

/** The request that would arrive if the payload were posted to the hook. It sees every mapping. */
export function toSampleRequest(
  { hook, payload, headers = {}, query = {}, rawBody = Buffer.from(JSON.stringify(payload)), receivedAt }: Sample,
  hooksPath: string,
): HookRequest {
  const sent = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  const request = toJsonRequest({ hook: trimSlashes(hook), hooksPath, credential: ANY_CREDENTIAL });
  return {
    ...request,
    query: withoutToken(query),
    headers: toVisibleHeaders({ ...request.headers, ...Object.fromEntries(sent) }),
    rawBody,
    ...parseJsonBody(rawBody),
    receivedAt: receivedAt ?? request.receivedAt,
  };
}

function toJsonRequest({ hook, hooksPath, credential }: { hook: string; hooksPath: string; credential: string }) {
  const contentType = "application/json";
  return {
    id: createId(),
    hook,
    method: "POST",
    path: `${hooksPath}/${hook}`,
    query: {},
    headers: { "content-type": contentType },
    contentType,
    receivedAt: Date.now(),
    credential,
    client: "127.0.0.1",
  };
}

/** The request as it is stored without its body. */
export function withoutBody(request: HookRequest): HookRequest {
  return { ...request, rawBody: NO_BODY, payload: undefined, readExact: undefined };
}

/** The request with another text in place of one, wherever it is; undefined if it is nowhere. */
export function withOtherText(request: HookRequest, text: string, other: string): HookRequest | undefined {
  const { headers, query, payload } = request;
  const values = JSON.stringify({ headers, query, payload });
  if (!values.includes(text)) return undefined;
  const changed: Pick<HookRequest, "headers" | "query" | "payload"> = JSON.parse(values.replaceAll(text, other));
  const rawBody = Buffer.from(request.rawBody.toString("utf8").replaceAll(text, other));
  return { ...request, ...changed, rawBody, readExact: undefined };
}

/**
 * Parses the body of a request. What its authenticator hides is replaced in payload and body. Only the request holds the
 * payload, so that `dropPayload` frees it.
 */
export async function parseLate(
  request: HookRequest,
  parse: ParseBody,
  hideSecrets?: Verified["hideSecrets"],
): Promise<void> {
  Object.assign(request, await parse(request.rawBody, request.receivedAt));
  if (hideSecrets) hidePayload(request, hideSecrets);
}

/** The bytes show what the payload hides, so they are replaced too. */
function hidePayload(request: HookRequest, hideSecrets: NonNullable<Verified["hideSecrets"]>): void {
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

/** Nothing needs the payload of an event that is made. Kept until its commit, it would survive a garbage collection, which copies it. */
export function dropPayload(request: HookRequest): void {
  request.payload = undefined;
}

function joinHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value = ""]) => [name, [value].flat().join(", ")]));
}

function withoutToken(query: Record<string, string>): Record<string, string> {
  if (query[TOKEN_PARAMETER] === undefined) return query;
  const { [TOKEN_PARAMETER]: _token, ...others } = query;
  return others;
}

/**
 * Copies the headers that templates, transforms and the journal may see; repeated ones are joined by `, `. Those whose
 * value is one of `secrets` are left out.
 */
function toVisibleHeaders(headers: IncomingHttpHeaders, secrets: readonly string[] = []): Record<string, string> {
  const visible: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || SECRET_HEADERS.has(name)) continue;
    const text = typeof value === "string" ? value : value.join(", ");
    if (!secrets.includes(text)) visible[name] = text;
  }
  return visible;
}
