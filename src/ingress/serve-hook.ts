import type { IncomingHttpHeaders } from "node:http";
import type { ResolvedConfig } from "../config/types.ts";
import { HookError } from "../errors.ts";
import type { MappingIndex } from "../mapping/mapping-index.ts";
import type { RejectionLog } from "../operator/rejections.ts";
import { OPENCLAW_TOKEN_HEADER, SECRET_HEADERS, TOKEN_HEADER, TOKEN_PARAMETER } from "../shared/secret.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { HookRequest, HttpResponse } from "../types.ts";
import { createBodyBudget, type Upload } from "./overload.ts";
import { inflate, parseCodings, receiveBody, requireDeclaredSize } from "./body.ts";
import type { AnsweredHandshake, Door, DoorRequest, Refusal, Verification, Verified } from "./door.ts";
import { createAuthRateLimit, type Doors } from "./doors.ts";
import type { Exchange } from "./exchange.ts";
import { type FindParser, parseJsonBody, passJsonBody } from "./parse-body.ts";
import { wrongMethod } from "./router.ts";

/** The part of the program that the ingress uses. */
export interface IngressProgram {
  config: {
    gateway: Pick<ResolvedConfig["gateway"], "host" | "port" | "role" | "trustedProxies">;
    hooks: Pick<ResolvedConfig["hooks"], "enabled" | "path" | "compat" | "maxBodyBytes" | "bodyTimeoutMs">;
  };
  doors: Doors;
  mappings: Pick<MappingIndex, "maxBodyBytes" | "names" | "mayTake">;
}

export interface HookOptions {
  /** A new object after each reload. It counts from the next request on, apart from revoked credentials. */
  current(): IngressProgram;
  telemetry: Telemetry;
  findParser: FindParser;
  rejections: RejectionLog;
  /** Whether `receive` needs the payload. If not, a JSON body is not parsed, and `payload` is undefined. */
  readsPayload(request: HookRequest): boolean;
  /** Answers a request that was let in and read. */
  receive(request: HookRequest): Promise<HttpResponse>;
  /** Answers `GET {hooks.path}/runs/<id>` of a right credential. */
  readRun(runId: string, credential: string): Promise<HttpResponse>;
  /**
   * Called with a request that has a right credential and is refused before `receive` gets it. Its `payload` is undefined,
   * its `rawBody` empty unless the body was read. The answer waits for it; it must not reject.
   */
  refused?(request: HookRequest, error: HookError): void | Promise<void>;
  /**
   * Called with a handshake. Its `payload` is undefined and its `rawBody` empty: it is nothing to run again, and some are not
   * signed. The answer waits for it; it must not reject.
   */
  onHandshake?(request: HookRequest, note: string | undefined): void | Promise<void>;
}

/** Gives the errors that are sent often, a wrong credential and an unknown hook: to throw one costs more than to find it. */
type ServeHook = (
  exchange: Exchange,
  hook: string | undefined,
  program: IngressProgram,
) => HookError | Promise<HttpResponse | HookError>;

/** Bodies whose senders are not known yet. Clients that have failed too often get less room. */
const UNVERIFIED_BYTES = 56 * 1024 * 1024;
const THROTTLED_BYTES = 8 * 1024 * 1024;

/** Checks a request to a hook path: method, credential, size, body. */
export function createServeHook(options: HookOptions): ServeHook {
  const { current, telemetry, findParser, rejections, readsPayload, receive, readRun, refused, onHandshake } = options;
  const rateLimit = createAuthRateLimit();
  /** Of handshakes that anyone could have sent. More of them are answered, and not recorded. */
  const recordLimit = createAuthRateLimit();
  const unverified = createBodyBudget(UNVERIFIED_BYTES);
  const throttled = createBodyBudget(THROTTLED_BYTES);

  return function serveHook(exchange, hook, program) {
    const startedAt = performance.now();
    const { hooks } = program.config;
    const run = /^runs\/([^/]+)$/.exec(hook ?? "")?.[1];
    const runId = exchange.method === "GET" ? run : undefined;
    const door = runId ? program.doors.anyToken : program.doors.find(hook);
    if (!runId && !door.methods.includes(exchange.method)) throw wrongMethod(...(run ? ["GET"] : []), "POST");
    const maxBytes = program.mappings.maxBodyBytes(hook ?? "", hooks.maxBodyBytes);
    const limits = { maxBytes, timeoutMs: hooks.bodyTimeoutMs };
    /** Set once a door reads the body to know its sender. */
    let upload: Upload | undefined;
    let isVerified = false;
    let body: Promise<Buffer> | undefined;
    const readBody = (): Promise<Buffer> => {
      if (!isVerified) upload ??= (rateLimit.isThrottled(exchange.client) ? throttled : unverified).open();
      return (body ??= receiveBody(exchange, limits, upload));
    };
    const doorRequest = toDoorRequest(exchange, hook, readBody);
    if (hooks.compat === "openclaw") doorRequest.headers = withOpenClawNames(exchange.headers);

    const visit = { exchange, hook, program, doorRequest, runId, maxBytes, startedAt };
    const admitted = verify(door, doorRequest, exchange);
    if (admitted instanceof Promise) {
      return admitted.finally(known).then((verified) => serveAdmitted(visit, requireAdmitted(verified)));
    }
    known();
    return admitted instanceof HookError ? admitted : serveAdmitted(visit, admitted);

    function known(): void {
      isVerified = true;
      upload?.release();
    }
  };

  async function serveAdmitted(visit: Visit, verified: Admitted): Promise<HttpResponse | HookError> {
    const { exchange, hook, program, doorRequest, runId, maxBytes, startedAt } = visit;
    const { credential, deprecation, verifyMs = performance.now() - startedAt } = verified;
    if (deprecation) telemetry.log.warn(deprecation.warning, { requestId: exchange.id, client: exchange.client });
    if (runId) return readRun(runId, credential);
    // Only after the credential: without one, a caller must not learn which names exist.
    if (hook === undefined) throw rejections.add(exchange, hook, new HookError("not_found"));
    const request = toHookRequest(exchange, doorRequest, hook, verified);
    if ("handshake" in verified) return answerHandshake(request, verified);
    try {
      requireDeclaredSize(exchange, maxBytes);
      const codings = parseCodings(exchange.headers);
      const parse = findParser(request.contentType, hook);
      const received = await doorRequest.readBody();
      request.rawBody = codings.length === 0 ? received : await inflate(received, codings, maxBytes);
      const isEmpty = verified.allowsEmptyBody && request.rawBody.length === 0;
      const isPassed = parse === parseJsonBody && !verified.hideSecrets && !readsPayload(request);
      const reading = readPayload(request, isEmpty ? parseNothing : isPassed ? passJsonBody : parse);
      if (reading) await reading;
      if (verified.hideSecrets) hideSecrets(request, verified.hideSecrets);
      request.took = { receiveMs: performance.now() - startedAt - verifyMs, verifyMs };
    } catch (error) {
      if (error instanceof HookError) await refused?.(request, error);
      throw error;
    }
    const latest = current();
    if (latest !== program) {
      // An upload can take minutes: a credential that was revoked meanwhile no longer counts.
      if (!latest.config.hooks.enabled) throw new HookError("not_found");
      request.credential = requireAdmitted(await verify(latest.doors.find(hook), doorRequest, exchange)).credential;
    }
    if (!latest.mappings.mayTake(request)) return rejections.add(exchange, hook, noSuchHook());
    try {
      const response = await receive(request);
      return verified.accept === 200 && response.status < 300 ? toOk(response) : response;
    } catch (error) {
      if (error instanceof HookError && error.code === "not_found") rejections.add(exchange, hook, error);
      throw error;
    }
  }

  /** Most doors know at once. */
  function verify(door: Door, request: DoorRequest, exchange: Exchange): Admission | Promise<Admission> {
    const verification = door.verify(request);
    if (!(verification instanceof Promise)) return admit(verification, request, exchange);
    return verification.then(
      (found) => admit(found, request, exchange),
      (error: unknown) => {
        const isRefused = error instanceof HookError && error.code !== "method_not_allowed";
        throw isRefused ? rejections.add(exchange, request.hook, error) : error;
      },
    );
  }

  function admit(verification: Verification, request: DoorRequest, exchange: Exchange): Admission {
    const { client, answerHeaders } = exchange;
    if (verification.deprecation) Object.assign(answerHeaders, verification.deprecation.headers);
    if (!("refusal" in verification)) {
      if (!("handshake" in verification) || verification.isSigned) rateLimit.succeed(client);
      return verification;
    }
    const { refusal: message, reason, hint } = verification;
    const tooMany = rateLimit.refusal(client);
    const details = { reason, hint, isThrottled: tooMany !== undefined };
    rejections.add(exchange, request.hook, { code: "unauthorized", message }, details);
    if (!tooMany) rateLimit.fail(client);
    return tooMany ?? new HookError("unauthorized", { message });
  }

  async function answerHandshake(
    request: HookRequest,
    { handshake, isSigned, note }: AnsweredHandshake,
  ): Promise<HttpResponse> {
    if (!isSigned && recordLimit.isThrottled(request.client)) return handshake;
    if (!isSigned) recordLimit.fail(request.client);
    await onHandshake?.(request, note);
    return handshake;
  }
}

type Admitted = Exclude<Verification, Refusal>;
type Admission = Admitted | HookError;

function requireAdmitted(admission: Admission): Admitted {
  if (admission instanceof HookError) throw admission;
  return admission;
}

interface Visit {
  exchange: Exchange;
  hook: string | undefined;
  program: IngressProgram;
  doorRequest: DoorRequest;
  /** It asks for this run. */
  runId: string | undefined;
  maxBytes: number;
  /** On the clock of `performance`. */
  startedAt: number;
}

/** A separate function, so that only the request holds the payload, and can drop it before the answer. */
function readPayload(request: HookRequest, parse: ReturnType<FindParser>): Promise<HookRequest> | undefined {
  const parsed = parse(request.rawBody);
  if (parsed instanceof Promise) return parsed.then((body) => Object.assign(request, body));
  request.payload = parsed.payload;
  request.payloadIsBody = parsed.payloadIsBody;
  request.warnings = parsed.warnings;
  return undefined;
}

const parseNothing: ReturnType<FindParser> = () => ({ payload: {}, payloadIsBody: false });

function noSuchHook(): HookError {
  return new HookError("not_found", { message: "There is no such hook." });
}

function toDoorRequest(exchange: Exchange, hook: string | undefined, readBody: DoorRequest["readBody"]): DoorRequest {
  const { method, headers, rawHeaders, path, search } = exchange;
  const query = search === "" ? {} : Object.fromEntries(new URLSearchParams(search));
  return { hook, method, headers, rawHeaders, query, path, search, receivedAt: Date.now(), readBody };
}

/** The same effect, for a sender that takes only 200 for success. */
function toOk({ status, headers, body }: HttpResponse): HttpResponse {
  return { status: 200, headers, body: status === 200 ? body : {} };
}

const NO_BODY = Buffer.alloc(0);

/** The request behind its door, before its body is read. */
function toHookRequest(
  { id, client }: Exchange,
  { method, path, query, headers, receivedAt }: DoorRequest,
  hook: string,
  { credential, secrets }: Pick<Verified, "credential" | "secrets">,
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
    idempotencyKey: typeof idempotencyKey === "string" && idempotencyKey !== "" ? idempotencyKey : undefined,
  };
}

function withoutToken(query: Record<string, string>): Record<string, string> {
  if (query[TOKEN_PARAMETER] === undefined) return query;
  const { [TOKEN_PARAMETER]: _token, ...others } = query;
  return others;
}

/** The bytes show what the payload hides, so they are replaced too. */
function hideSecrets(request: HookRequest, hide: NonNullable<Verified["hideSecrets"]>): void {
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
function withOpenClawNames(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return {
    ...headers,
    [TOKEN_HEADER]: headers[TOKEN_HEADER] ?? headers[OPENCLAW_TOKEN_HEADER],
    "idempotency-key": headers["idempotency-key"] ?? headers["x-openclaw-idempotency-key"],
  };
}
