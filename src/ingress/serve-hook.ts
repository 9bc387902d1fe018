import type { IncomingHttpHeaders } from "node:http";
import type { ResolvedConfig } from "../config/types.ts";
import { HookError } from "../errors.ts";
import type { MappingIndex } from "../mapping/mapping-index.ts";
import { SECRET_HEADERS, TOKEN_PARAMETER } from "../shared/secret.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { HookRequest, HttpResponse } from "../types.ts";
import { createAuthRateLimit } from "./auth-rate-limit.ts";
import { readBody, requireDeclaredSize } from "./body.ts";
import type { Door, DoorRequest, Doors, Verification } from "./doors.ts";
import type { Exchange } from "./exchange.ts";
import type { FindParser } from "./parse-body.ts";

/** The part of the program that the ingress uses. */
export interface IngressProgram {
  config: {
    gateway: Pick<ResolvedConfig["gateway"], "host" | "port" | "trustedProxies">;
    hooks: Pick<ResolvedConfig["hooks"], "enabled" | "path" | "maxBodyBytes" | "bodyTimeoutMs">;
  };
  doors: Doors;
  mappings: Pick<MappingIndex, "maxBodyBytes">;
}

export interface HookOptions {
  /** A new object after each reload. It counts from the next request on, apart from revoked credentials. */
  current(): IngressProgram;
  telemetry: Telemetry;
  findParser: FindParser;
  /** Answers a request that was let in and read. */
  receive(request: HookRequest): Promise<HttpResponse>;
  /**
   * Called with a request that has a right credential and is refused before `receive` gets it. Its `payload` is undefined,
   * its `rawBody` empty unless the body was read. The answer waits for it; it must not reject.
   */
  refused?(request: HookRequest, error: HookError): void | Promise<void>;
}

export type ServeHook = (
  exchange: Exchange,
  hook: string | undefined,
  program: IngressProgram,
) => Promise<HttpResponse>;

/** Checks a request to a hook path: method, credential, size, body. */
export function createServeHook({ current, telemetry, findParser, receive, refused }: HookOptions): ServeHook {
  const rateLimit = createAuthRateLimit();

  return async function serveHook(exchange, hook, program) {
    const { hooks } = program.config;
    const door = program.doors.find(hook);
    if (!door.methods.includes(exchange.method)) throw wrongMethod(door);
    const maxBytes = program.mappings.maxBodyBytes(hook ?? "", hooks.maxBodyBytes);
    const limits = { maxBytes, timeoutMs: hooks.bodyTimeoutMs };
    let body: Promise<Buffer> | undefined;
    const doorRequest: DoorRequest = {
      hook,
      method: exchange.method,
      headers: exchange.headers,
      query: exchange.search === "" ? {} : Object.fromEntries(new URLSearchParams(exchange.search)),
      readBody: () => (body ??= readBody(exchange, limits)),
    };

    const { credential, deprecation, allowsEmptyBody } = await verify(door, doorRequest, exchange);
    if (deprecation) telemetry.log.warn(deprecation.warning, { requestId: exchange.id, client: exchange.client });
    // Only after the credential: without one, a caller must not learn which names exist.
    if (hook === undefined) throw new HookError("not_found");
    const handshake = await door.handshake?.(doorRequest);
    if (handshake) return handshake;
    if (exchange.method !== "POST") throw wrongMethod(door);

    const request = toHookRequest(exchange, { hook, query: withoutToken(doorRequest.query), credential });
    try {
      requireDeclaredSize(exchange, maxBytes);
      const parse = findParser(request.contentType);
      request.rawBody = await doorRequest.readBody();
      const isEmpty = allowsEmptyBody && request.rawBody.length === 0;
      Object.assign(request, isEmpty ? { payload: {} } : await parse(request.rawBody));
    } catch (error) {
      if (error instanceof HookError) await refused?.(request, error);
      throw error;
    }
    const latest = current();
    if (latest !== program) {
      // An upload can take minutes: a token that was revoked meanwhile no longer counts.
      if (!latest.config.hooks.enabled) throw new HookError("not_found");
      request.credential = (await verify(latest.doors.find(hook), doorRequest, exchange)).credential;
    }
    return receive(request);
  };

  async function verify(door: Door, request: DoorRequest, { client, answerHeaders }: Exchange): Promise<Verified> {
    const verification = await door.verify(request);
    Object.assign(answerHeaders, verification.deprecation?.headers);
    if ("credential" in verification) {
      rateLimit.succeed(client);
      return verification;
    }
    rateLimit.fail(client);
    throw new HookError("unauthorized", { message: verification.refusal });
  }
}

type Verified = Extract<Verification, { credential: string }>;

function wrongMethod({ methods }: Door): HookError {
  return new HookError("method_not_allowed", { headers: { Allow: methods.join(", ") } });
}

function withoutToken({ [TOKEN_PARAMETER]: _token, ...query }: Record<string, string>): Record<string, string> {
  return query;
}

const NO_BODY = Buffer.alloc(0);

function toHookRequest(
  { id, method, path, headers, client }: Exchange,
  verified: Pick<HookRequest, "hook" | "query" | "credential">,
): HookRequest {
  const idempotencyKey = headers["idempotency-key"];
  return {
    id,
    method,
    path,
    ...verified,
    headers: toVisibleHeaders(headers),
    rawBody: NO_BODY,
    payload: undefined,
    payloadIsBody: false,
    contentType: headers["content-type"] ?? "",
    receivedAt: Date.now(),
    client,
    ...(typeof idempotencyKey === "string" && idempotencyKey !== "" && { idempotencyKey }),
  };
}

/** Copies the headers that templates, transforms and the journal may see; repeated ones are joined by `, `. */
export function toVisibleHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const visible: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || SECRET_HEADERS.has(name)) continue;
    visible[name] = typeof value === "string" ? value : value.join(", ");
  }
  return visible;
}
