import { MailError, messageOf } from "../../errors.ts";
import { isObject, toObject } from "../../shared/json.ts";
import { cleanLine } from "../message/text.ts";

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
  ["invalid_grant", "The refresh token has ended or was revoked: run `webhooks mail setup` again."],
  ["invalid_client", "Check hooks.mail.source.oauth.clientId and clientSecret."],
  ["unauthorized_client", "The refresh token belongs to another client: run `webhooks mail setup` again."],
  ["accessNotConfigured", "Enable the Gmail API in the client's Google Cloud project."],
  ["SERVICE_DISABLED", "Enable the named API in the client's Google Cloud project."],
  ["insufficientPermissions", "The consent does not include it: run `webhooks mail setup` again."],
  ["ACCESS_TOKEN_SCOPE_INSUFFICIENT", "The consent does not include it: run `webhooks mail setup` again."],
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
 * Reads an error of Google's libraries. An API answers `{ error: { message, status, errors: [{ reason }], details: [{ reason }] } }`,
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
