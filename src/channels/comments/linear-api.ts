import type { DriverError } from "../../errors.ts";
import { parseRetryAfter } from "../../shared/http-status.ts";
import { toObject } from "../../shared/json.ts";
import { type HttpAnswer, request, toLine, toRefusal } from "../http.ts";
import { createTokenSource, type Token } from "../token-source.ts";
import { isSuccess } from "./comment.ts";

interface LinearApp {
  id: string;
  secret: string;
}

interface LinearAccess {
  baseUrl: string;
  /** Either a token or an application. */
  token?: string;
  app?: LinearApp;
}

/** Resolves to the data, or to undefined if what is asked about does not exist. */
export type Ask = (query: string, variables: object) => Promise<Record<string, unknown> | undefined>;

/** Opens the GraphQL API for the calls of one delivery. https://linear.app/developers/graphql */
export function createLinearApi({ baseUrl, token = "", app }: LinearAccess): (signal: AbortSignal) => Promise<Ask> {
  const base = baseUrl.replace(/\/$/, "");
  const tokens = app && createTokenSource("Linear", (signal) => fetchToken(app, base, signal));
  return async (signal) => {
    const used = (await tokens?.get(signal)) ?? token;
    const headers = { authorization: used.startsWith("lin_api_") ? used : `Bearer ${used}` };
    return async (query, variables) => {
      const answer = await request({
        service: "Linear",
        url: `${base}/graphql`,
        headers,
        body: { query, variables },
        signal,
      });
      const { data, errors } = answer.body;
      if (isSuccess(answer) && errors === undefined) return toObject(data);
      // The message may quote the comment.
      const { message, extensions } = toObject(Array.isArray(errors) ? errors[0] : undefined);
      const { type, userPresentableMessage } = toObject(extensions);
      if (/\bnot found\b/i.test(toLine(message)) && !ADVICE.has(toLine(type))) return undefined;
      // An app's token may be revoked early. The next attempt gets a new one.
      const isRevoked = tokens !== undefined && answer.status === 401;
      if (isRevoked) tokens.forget(used);
      throw toDriverError(answer, { type: toLine(type), reason: userPresentableMessage, isRevoked });
    };
  };
}

/** https://linear.app/developers/oauth-2-0-authentication, "Client credentials tokens" */
async function fetchToken({ id, secret }: LinearApp, base: string, signal: AbortSignal): Promise<Token> {
  const answer = await request({
    service: "Linear",
    url: `${base}/oauth/token`,
    body: new URLSearchParams({
      grant_type: "client_credentials",
      client_id: id,
      client_secret: secret,
      scope: "read,write",
    }),
    signal,
  });
  const { access_token: token, expires_in: seconds, error } = answer.body;
  if (isSuccess(answer) && typeof token === "string" && token !== "") {
    return { token, expiresAt: Date.now() + Number(seconds ?? 0) * 1000 };
  }
  throw toRefusal("Linear", answer, {
    reason: error,
    advice: "Check channels.linear.app, and that the app may use client credentials.",
  });
}

/** By the `type` of an error. */
const ADVICE = new Map([
  ["authentication error", "Check channels.linear.token or app."],
  ["forbidden", "Give the token the permissions Read and Create comments, and its account access to the team."],
  ["usage limit exceeded", "The workspace's plan allows no more."],
]);
const RETRYABLE_TYPES = new Set(["internal error", "lock timeout", "network error"]);

interface Refused {
  type: string;
  reason: unknown;
  isRevoked: boolean;
}

/** An error comes with status 400 or 200, also one about a rate limit. */
function toDriverError(answer: HttpAnswer, { type, reason, isRevoked }: Refused): DriverError {
  const isRateLimit = type === "ratelimited" || answer.status === 429;
  return toRefusal("Linear", answer, {
    reason,
    advice: ADVICE.get(type),
    retryable: isRateLimit || isRevoked || RETRYABLE_TYPES.has(type) || answer.status >= 500,
    ...(isRateLimit && { retryAfterMs: toWait(answer.headers) }),
  });
}

/** Each has separate headers. https://linear.app/developers/rate-limiting */
const LIMITS = ["requests", "complexity", "endpoint-requests"];
/** The complexity of a query here is less. */
const MAX_COMPLEXITY = 10;

/** Until the limits that refused the request are full again. */
function toWait(headers: Headers): number | undefined {
  const exhausted = LIMITS.filter(
    (limit) => Number(headers.get(`x-ratelimit-${limit}-remaining`) ?? Infinity) < MAX_COMPLEXITY,
  );
  const resets = exhausted.map((limit) => Number(headers.get(`x-ratelimit-${limit}-reset`))).filter((at) => at > 0);
  return (
    parseRetryAfter(headers.get("retry-after")) ??
    (resets.length > 0 ? Math.max(0, Math.max(...resets) - Date.now()) : undefined)
  );
}
