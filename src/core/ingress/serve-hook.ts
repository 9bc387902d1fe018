import type { ResolvedConfig } from "../config/resolved-config.ts";
import { HookError, toHookError } from "../errors.ts";
import type { MappingIndex } from "../mapping/mapping-index.ts";
import type { Rejections } from "../ports/rejections.ts";
import { RecentFailure } from "../shared/net/recent-failure.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { HookRequest, HttpResponse } from "../types.ts";
import type {
  AnsweredHandshake,
  Authenticator,
  AuthenticatorRequest,
  Refusal,
  Verification,
  Verified,
} from "./authenticator.ts";
import { type Authenticators, createAuthRateLimit } from "./authenticators.ts";
import { inflate, parseCodings, receiveBody, receiveRefused, requireDeclaredSize } from "./body.ts";
import type { Exchange } from "./exchange.ts";
import { parseLate, toAuthenticatorRequest, toHookRequest, toRefusedRequest } from "./hook-request.ts";
import { type BurstQueue, createBodyBudget, type Upload } from "./overload.ts";
import { type FindParser, type ParseBody, type ParsedBody, parseJsonBody, passJsonBody } from "./parse-body.ts";
import { matchHook, type Router, wrongMethod } from "./router.ts";

export interface IngressRuntime {
  config: {
    gateway: Pick<ResolvedConfig["gateway"], "host" | "port" | "role" | "trustedProxies">;
    hooks: Pick<ResolvedConfig["hooks"], "enabled" | "path" | "compat" | "maxBodyBytes" | "bodyTimeoutMs">;
  };
  authenticators: Authenticators;
  mappings: Pick<MappingIndex, "maxBodyBytes" | "names" | "mayTake">;
}

export interface HookOptions<Runtime extends IngressRuntime = IngressRuntime> {
  /** A new object after each reload. It counts from the next request on, and for one whose body was still being read. */
  current(): Runtime;
  telemetry: Telemetry;
  findParser: FindParser;
  rejections: Rejections;
  /** Recordings of hooks that no mapping takes. Neither may reject. */
  recordings?: {
    wants(hook: string): Promise<boolean>;
    /** `answer`: the status. The body is empty if it is over `MAX_RECORDED_BYTES`. */
    add(request: HookRequest, answer: number): Promise<void>;
  };
  /** Whether `receive` needs the payload. If not, a JSON body is not parsed, and `payload` is undefined. */
  readsPayload(request: HookRequest, runtime: Runtime): boolean;
  /** Answers a request that was let in and read. */
  receive(request: HookRequest, runtime: Runtime): Promise<HttpResponse>;
  /** Answers `GET {hooks.path}/runs/<id>` of a right credential. */
  readRun(runId: string, credential: string): Promise<HttpResponse>;
  /**
   * Called with a request that has a right credential and whose body is refused. Its `payload` is undefined, its `rawBody`
   * empty unless the body was read and shows no secret. The answer waits for it; it must not reject.
   */
  refused?(request: HookRequest, error: HookError): void | Promise<void>;
  /**
   * Called with a handshake. Its `payload` is undefined and its `rawBody` empty: it is nothing to run again, and some are not
   * signed. The answer waits for it; it must not reject.
   */
  onHandshake?(request: HookRequest, note: string | undefined): void | Promise<void>;
}

interface ServeHookOptions<Runtime extends IngressRuntime> extends HookOptions<Runtime> {
  bursts: BurstQueue;
  router: Router;
}

/** Bodies whose senders are not known yet. Clients that have failed too often get less room. */
const UNVERIFIED_BYTES = 56 * 1024 * 1024;
const THROTTLED_BYTES = 8 * 1024 * 1024;

/** These refusals are kept for a hook that is recorded. */
const RECORDED: ReadonlySet<number> = new Set([401, 404, 405, 429]);
const MAX_RECORDED_BYTES = 256 * 1024;

/** Takes a request to a hook from its path to `receive`. Every refusal is thrown. */
export function createServeHook<Runtime extends IngressRuntime>(
  options: ServeHookOptions<Runtime>,
): (exchange: Exchange) => Promise<HttpResponse> {
  const { bursts, router, current, telemetry, findParser, rejections, recordings, readsPayload, receive, readRun } =
    options;
  const rateLimit = createAuthRateLimit();
  /** Limits the records of handshakes that anyone could have sent. Further ones are answered, and not recorded. */
  const recordLimit = createAuthRateLimit();
  const openUnverified = createBodyBudget(UNVERIFIED_BYTES);
  const openThrottled = createBodyBudget(THROTTLED_BYTES);

  return (exchange) => serveHook(exchange).catch((error: unknown) => keepRefused(exchange, error));

  async function serveHook(exchange: Exchange): Promise<HttpResponse> {
    // 1. A turn: requests of a burst begin in portions.
    const turn = bursts.wait(() => nameHook(exchange, current()));
    if (turn) await turn;
    const startedAt = performance.now();
    const runtime = current();
    const { gateway, hooks } = runtime.config;

    // 2. The path. On a worker, only the service itself uses hooks.
    const isOpen = hooks.enabled && (exchange.isOwn || gateway.role !== "worker");
    const route = isOpen ? matchHook(exchange.path, hooks.path) : undefined;
    if (!route) throw router.refuse(exchange);
    const { hook } = route;

    // 3. The method. `GET runs/<id>` reads a run; the other methods are those of the hook's senders.
    const run = /^runs\/([^/]+)$/.exec(hook ?? "")?.[1];
    const runId = exchange.method === "GET" ? run : undefined;
    const authenticator = runId ? runtime.authenticators.anyToken : runtime.authenticators.find(hook);
    if (!runId && !authenticator.methods.includes(exchange.method)) throw wrongMethod(...(run ? ["GET"] : []), "POST");

    // 4. The credential. A signature covers the body: then it is read before the sender is known, so within a budget.
    // Step 7 may ask again for a body that has been read.
    const maxBytes = runtime.mappings.maxBodyBytes(hook ?? "", hooks.maxBodyBytes);
    const limits = { maxBytes, timeoutMs: hooks.bodyTimeoutMs };
    let upload: Upload | undefined;
    const credentials = toAuthenticatorRequest(exchange, hook, hooks.compat, () =>
      receiveBody(exchange, limits, exchange.received ? undefined : (upload ??= openUpload(exchange))),
    );
    let verified: Admitted;
    try {
      verified = await authenticate(authenticator, credentials, exchange);
    } finally {
      upload?.release();
    }
    const { credential, deprecation, verifyMs = performance.now() - startedAt } = verified;
    if (deprecation) telemetry.log.warn(deprecation.warning, { requestId: exchange.id, client: exchange.client });
    if (runId) return readRun(runId, credential);

    // 5. The name. Only after the credential: without one, a caller must not learn which hooks exist.
    if (hook === undefined) throw rejections.add(exchange, hook, new HookError("not_found"));
    const toRequest = (rawBody?: Buffer): HookRequest =>
      toHookRequest(exchange, credentials, hook, { verified, rawBody });
    if ("handshake" in verified) return answerHandshake(toRequest(), verified);

    // 6. The body. A body is refused before it is read if the head shows a mistake. A refusal is recorded, as in step 8.
    let parse: ParseBody;
    let rawBody: Buffer;
    try {
      requireDeclaredSize(exchange, maxBytes);
      const codings = parseCodings(exchange.headers);
      parse = findParser(exchange.headers["content-type"] ?? "", hook);
      const received = await receiveBody(exchange, limits);
      rawBody = codings.length > 0 ? await inflate(received, codings, maxBytes) : received;
    } catch (error) {
      return recordRefusal(toRequest(), error);
    }

    // 7. A reload. An upload can take minutes: only what counts now decides, also about what is hidden.
    const latest = current();
    if (latest !== runtime) {
      if (!latest.config.hooks.enabled) throw rejections.add(exchange, hook, new HookError("not_found"));
      verified = await authenticate(latest.authenticators.find(hook), credentials, exchange);
      if ("handshake" in verified) return answerHandshake(toRequest(), verified);
    }

    // 8. The payload.
    const request = toRequest(rawBody);
    const { hideSecrets } = verified;
    try {
      await parseLate(request, chooseParser(request, parse, verified, latest), hideSecrets);
    } catch (error) {
      // A secret of the body can only be hidden in a payload.
      return recordRefusal(hideSecrets ? toRequest() : request, error);
    }
    request.timings = { receiveMs: performance.now() - startedAt - verifyMs, verifyMs };

    // 9. Its mapping and the journal.
    if (!latest.mappings.mayTake(request))
      throw rejections.add(exchange, hook, new HookError("not_found", { message: "There is no such hook." }));
    let response: HttpResponse;
    try {
      response = await receive(request, latest);
    } catch (error) {
      if (request.isProvedByButton) rateLimit.fail(exchange.client, hook);
      return rejectReceived(exchange, hook, error);
    }
    return verified.accept === 200 && response.status < 300 ? toOk(response) : response;
  }

  /** While the operator records an unknown hook, what it is sent is kept. The answer stays the same. */
  async function keepRefused(exchange: Exchange, error: unknown): Promise<never> {
    const { config } = current();
    const isKept = error instanceof HookError && RECORDED.has(error.status) && config.hooks.enabled;
    const hook = isKept ? matchHook(exchange.path, config.hooks.path)?.hook : undefined;
    if (hook !== undefined && (await recordings?.wants(hook))) {
      const { compat, bodyTimeoutMs: timeoutMs } = config.hooks;
      const upload = openUpload(exchange);
      const body = await receiveRefused(exchange, { maxBytes: MAX_RECORDED_BYTES, timeoutMs }, upload);
      upload.release();
      await recordings?.add(toRefusedRequest(exchange, hook, compat, body), toHookError(error).status);
    }
    throw error;
  }

  function openUpload({ client }: Exchange): Upload {
    return rateLimit.isThrottled(client) ? openThrottled() : openUnverified();
  }

  async function authenticate(
    authenticator: Authenticator,
    request: AuthenticatorRequest,
    exchange: Exchange,
  ): Promise<Admitted> {
    const { client, answerHeaders } = exchange;
    let verification: Verification;
    try {
      verification = await authenticator.verify(request);
    } catch (error) {
      // A body that is refused before its sender is known is a rejection too.
      const isRefused = error instanceof HookError && error.code !== "method_not_allowed";
      if (!isRefused) throw error;
      const rejection = rejections.add(exchange, request.hook, error);
      if (error.cause instanceof RecentFailure) rateLimit.fail(client, request.hook);
      throw rejection;
    }
    if (verification.deprecation) Object.assign(answerHeaders, verification.deprecation.headers);
    if (!("refusal" in verification)) {
      const isProved = "handshake" in verification ? verification.isSigned : !verification.isProvedByButton;
      if (isProved) rateLimit.succeed(client, request.hook);
      return verification;
    }
    const { refusal: message, reason, hint } = verification;
    const details = { reason, hint, isThrottled: rateLimit.isThrottled(client) };
    rejections.add(exchange, request.hook, { code: "unauthorized", message }, details);
    rateLimit.fail(client, request.hook);
    throw new HookError("unauthorized", { message });
  }

  async function answerHandshake(
    request: HookRequest,
    { handshake, isSigned, note }: AnsweredHandshake,
  ): Promise<HttpResponse> {
    if (!isSigned && recordLimit.isThrottled(request.client)) return handshake;
    if (!isSigned) recordLimit.fail(request.client);
    await options.onHandshake?.(request, note);
    return handshake;
  }

  /** The one decision about a body: it is empty, JSON that only the sandbox reads, which is not parsed, or parsed. */
  function chooseParser(
    request: HookRequest,
    parse: ParseBody,
    { allowsEmptyBody, hideSecrets }: Pick<Verified, "allowsEmptyBody" | "hideSecrets">,
    runtime: Runtime,
  ): ParseBody {
    if (allowsEmptyBody && request.rawBody.length === 0) return parseNothing;
    return parse === parseJsonBody && !hideSecrets && !readsPayload(request, runtime) ? passJsonBody : parse;
  }

  async function recordRefusal(request: HookRequest, error: unknown): Promise<never> {
    if (error instanceof HookError) await options.refused?.(request, error);
    throw error;
  }

  /** A hook that no mapping serves and a signature that was used before count as rejections. */
  function rejectReceived(exchange: Exchange, hook: string, error: unknown): never {
    if (!(error instanceof HookError)) throw error;
    if (error.code === "not_found") rejections.add(exchange, hook, error);
    if (error.code === "unauthorized") rejections.add(exchange, hook, error, { reason: "wrong" });
    throw error;
  }
}

type Admitted = Exclude<Verification, Refusal>;

function parseNothing(): ParsedBody {
  return { payload: {}, payloadIsBody: false };
}

/** The hook of a path, if the configuration names it: others are a sender's choice. */
export function nameHook({ path }: Pick<Exchange, "path">, { config, mappings }: IngressRuntime): string | undefined {
  const hook = matchHook(path, config.hooks.path)?.hook;
  return hook !== undefined && mappings.names(hook) ? hook : undefined;
}

/** The same effect, for a sender that takes only 200 for success. */
function toOk({ status, headers, body }: HttpResponse): HttpResponse {
  // A mapping's own answer keeps its bytes.
  return { status: 200, headers, body: status === 200 || Buffer.isBuffer(body) ? body : {} };
}
