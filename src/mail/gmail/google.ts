import { setTimeout as sleep } from "node:timers/promises";
import { MailError, messageOf } from "../../core/errors.ts";
import { isObject, parseJson, toObject } from "../../core/shared/json.ts";
import { isRetryableStatus } from "../../core/shared/net/network.ts";
import { cleanLine } from "../message/text.ts";
import { createAccessTokens } from "../oauth.ts";
import type { GmailOptions } from "../options.ts";

export const GOOGLE_TOKEN_URL = "https://oauth2.googleapis.com/token";

export type GoogleOAuth = GmailOptions["oauth"];

interface GoogleCall {
  signal: AbortSignal;
  method?: "GET" | "POST";
  /** Sent as JSON. */
  body?: object;
  /** Milliseconds. Default: 30,000. */
  timeoutMs?: number;
  /** Undefined values are left out; a list is repeated. */
  query?: Record<string, string | number | boolean | string[] | undefined>;
}

/** Sends a request as the user. Resolves with the answer's JSON; rejects with a `GoogleFailure`, a `MailError` or the signal's reason. */
export type CallGoogle = (url: URL, call: GoogleCall) => Promise<Record<string, unknown>>;

/** An answer that is not a success, or the cause why there is none. */
export class GoogleFailure extends Error {
  override name = "GoogleFailure";
  readonly response: { status: number; data: unknown } | undefined;

  constructor(response: { status: number; data: unknown } | undefined, options?: ErrorOptions) {
    super(response ? `status ${response.status}` : messageOf(options?.cause), options);
    this.response = response;
  }
}

const TIMEOUT_MS = 30_000;
/** Waits after a failure of the network or of a server, for requests that change nothing. */
const RETRY_WAITS_MS = [100, 500, 2000];

export function createGoogle({
  clientId,
  clientSecret,
  refreshToken,
  tokenUrl = GOOGLE_TOKEN_URL,
  scope,
}: GoogleOAuth): CallGoogle {
  const tokens = createAccessTokens({
    clientId,
    clientSecret,
    refreshToken,
    tokenUrl,
    scope,
    toRefusal: ({ status, answer }) => toMailError(new GoogleFailure({ status, data: answer }), "get an access token"),
  });

  return async function callGoogle(url, call) {
    const waits = call.method === "POST" ? [] : RETRY_WAITS_MS;
    for (let attempt = 0; ; attempt++) {
      try {
        return await callOnce(url, call);
      } catch (error) {
        const waitMs = waits[attempt];
        if (waitMs === undefined || call.signal.aborted || !isRetryable(error)) throw error;
        await sleep(waitMs, undefined, { signal: call.signal });
      }
    }
  };

  /** An access token can be revoked before its end: then it is replaced, once. */
  async function callOnce(url: URL, call: GoogleCall): Promise<Record<string, unknown>> {
    const token = await tokens.get(call.signal);
    try {
      return await send(url, call, token);
    } catch (error) {
      if (!(error instanceof GoogleFailure) || error.response?.status !== 401) throw error;
      tokens.forget(token);
      return send(url, call, await tokens.get(call.signal));
    }
  }
}

async function send(
  base: URL,
  { signal, method = "GET", body, query = {}, timeoutMs = TIMEOUT_MS }: GoogleCall,
  token: string,
): Promise<Record<string, unknown>> {
  const url = new URL(base);
  for (const [name, value] of Object.entries(query)) {
    for (const item of [value].flat()) if (item !== undefined) url.searchParams.append(name, String(item));
  }
  const answered = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body && { "content-type": "application/json" }) },
    body: body && JSON.stringify(body),
    // A followed redirect would take the token elsewhere.
    redirect: "manual",
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
  })
    .then(async (response) => ({ status: response.status, data: parseJson(await response.text()) }))
    .catch((cause: unknown) => {
      throw new GoogleFailure(undefined, { cause });
    });
  if (answered.status < 200 || answered.status > 299) throw new GoogleFailure(answered);
  return toObject(answered.data);
}

/** A rate limit takes longer. */
function isRetryable(error: unknown): boolean {
  return (
    error instanceof GoogleFailure &&
    isRetryableStatus(error.response?.status ?? 500) &&
    !isRateLimit(readGoogleError(error))
  );
}

export interface GoogleError {
  /** Undefined if there was no answer. */
  status: number | undefined;
  /** `rateLimitExceeded`, `invalid_grant`, `NOT_FOUND` … */
  reasons: unknown[];
  message: string;
}

const MAX_CHARACTERS = 300;

/** Google answers both 403 and 429. */
const RATE_LIMITS = new Set<unknown>([
  "rateLimitExceeded",
  "userRateLimitExceeded",
  "quotaExceeded",
  "dailyLimitExceeded",
  "RATE_LIMIT_EXCEEDED",
  "RESOURCE_EXHAUSTED",
]);
const OAUTH_REFUSALS = new Set<unknown>(["invalid_grant", "invalid_client", "unauthorized_client", "invalid_scope"]);

/** The next step after a refusal, by reason. */
const ADVICE = new Map<unknown, string>([
  ["invalid_grant", "The refresh token has ended or was revoked: run `npx hookline mail setup` again."],
  ["invalid_client", "Check hooks.mail.source.oauth.clientId and clientSecret."],
  ["unauthorized_client", "The refresh token belongs to another client: run `npx hookline mail setup` again."],
  ["accessNotConfigured", "Enable the Gmail API in the client's Google Cloud project."],
  ["SERVICE_DISABLED", "Enable the named API in the client's Google Cloud project."],
  ["insufficientPermissions", "The consent does not include it: run `npx hookline mail setup` again."],
  ["ACCESS_TOKEN_SCOPE_INSUFFICIENT", "The consent does not include it: run `npx hookline mail setup` again."],
]);

/** Converts an error of a request to Google. `doing`: what the request was for, such as `read the history`. */
export function toMailError(thrown: unknown, doing: string): MailError {
  if (thrown instanceof MailError) return thrown;
  const error = readGoogleError(thrown);
  const advice = error.reasons.map((reason) => ADVICE.get(reason)).find(Boolean);
  const sentence = `Google: cannot ${doing}: ${error.message.replace(/[^.!?]$/, "$&.")}`;
  return new MailError(toKind(error), [sentence, advice].filter(Boolean).join(" "), { cause: thrown });
}

export function isRateLimit({ status, reasons }: GoogleError): boolean {
  return status === 429 || (status === 403 && reasons.some((reason) => RATE_LIMITS.has(reason)));
}

function toKind(error: GoogleError): MailError["kind"] {
  const { status, reasons } = error;
  if (isRateLimit(error)) return "network";
  if (status === 401 || status === 403 || reasons.some((reason) => OAUTH_REFUSALS.has(reason))) return "login";
  // failedPrecondition: the account's mail service is off.
  return status === 404 || reasons.includes("failedPrecondition") ? "gone" : "network";
}

/**
 * Reads a `GoogleFailure`. An API answers `{ error: { message, status, errors: [{ reason }], details: [{ reason }] } }`,
 * the token endpoint `{ error, error_description }`.
 */
export function readGoogleError(thrown: unknown): GoogleError {
  const response = toObject(isObject(thrown) ? thrown.response : undefined);
  const data = toObject(response.data);
  const status = typeof response.status === "number" ? response.status : undefined;
  if (!isObject(data.error)) {
    const message = toLine(data.error_description ?? data.error ?? describeFailure(thrown));
    return { status, reasons: [data.error], message };
  }
  const { message, status: name, errors, details } = data.error;
  const reasons = [errors, details].flat().map((entry) => (isObject(entry) ? entry.reason : undefined));
  return { status, reasons: [name, ...reasons], message: toLine(message) };
}

function toLine(message: unknown): string {
  return cleanLine(typeof message === "string" ? message : "no reason given", MAX_CHARACTERS);
}

/** `fetch failed (ECONNREFUSED)`: the system's code is in the innermost cause. */
function describeFailure(thrown: unknown): string {
  let code: string | undefined;
  for (let error = thrown, depth = 0; error instanceof Error && depth < 5; error = error.cause, depth++) {
    if ("code" in error && /^E[A-Z_]+$/.test(String(error.code))) code = String(error.code);
  }
  return code ? `${messageOf(thrown)} (${code})` : messageOf(thrown);
}
