import { MailError, messageOf } from "../../errors.ts";
import { isObject } from "../../shared/json.ts";
import { cleanLine } from "../message/text.ts";

/** What Google says of a request that it refused, or that never reached it. */
export interface GoogleError {
  /** Absent: there was no answer. */
  status: number | undefined;
  /** `rateLimitExceeded`, `invalid_grant`, `NOT_FOUND`: all that it is called by. */
  reasons: string[];
  /** One line, bounded. */
  message: string;
}

const MAX_CHARACTERS = 300;

/**
 * Reads an error of Google's libraries: of an API (`{ error: { message, status, errors: [{ reason }], details: [{ reason }] } }`)
 * or of the token endpoint (`{ error, error_description }`).
 */
export function readGoogleError(thrown: unknown): GoogleError {
  const response = isObject(thrown) && isObject(thrown.response) ? thrown.response : {};
  const data = isObject(response.data) ? response.data : {};
  const status = typeof response.status === "number" ? response.status : undefined;
  if (isObject(data.error)) {
    const { message, status: name, errors, details } = data.error;
    return {
      status,
      reasons: strings([name, ...reasonsOf(errors), ...reasonsOf(details)]),
      message: toLine(message),
    };
  }
  const message = toLine(data.error_description ?? data.error ?? toReason(thrown));
  return { status, reasons: strings([data.error]), message };
}

/** `fetch failed` says nothing; what it came of does. */
function toReason(thrown: unknown): string {
  const code = systemCodeOf(thrown);
  return code ? `${messageOf(thrown)} (${code})` : messageOf(thrown);
}

/** `ECONNREFUSED`: of the innermost cause that has one. */
function systemCodeOf(thrown: unknown, depth = 0): string | undefined {
  if (!(thrown instanceof Error) || depth > 5) return undefined;
  const own = "code" in thrown && /^E[A-Z_]+$/.test(String(thrown.code)) ? String(thrown.code) : undefined;
  return systemCodeOf(thrown.cause, depth + 1) ?? own;
}

function reasonsOf(list: unknown): unknown[] {
  return Array.isArray(list) ? list.map((entry) => isObject(entry) && entry.reason) : [];
}

function strings(values: unknown[]): string[] {
  return values.filter((value) => typeof value === "string");
}

function toLine(message: unknown): string {
  return cleanLine(typeof message === "string" ? message : "no reason given", MAX_CHARACTERS);
}

/** Google gives both 403 and 429 to those who ask too much. */
const RATE_LIMITS = [
  "rateLimitExceeded",
  "userRateLimitExceeded",
  "quotaExceeded",
  "dailyLimitExceeded",
  "RATE_LIMIT_EXCEEDED",
  "RESOURCE_EXHAUSTED",
];

/** What an operator does about a refusal, by the name that Google gives it. */
const ADVICE: Record<string, string> = {
  invalid_grant: "The refresh token has ended or was withdrawn: run `webhooks mail setup` again.",
  invalid_client: "Check hooks.mail.source.oauth.clientId and clientSecret.",
  unauthorized_client: "The refresh token is another client's: run `webhooks mail setup` again.",
  accessNotConfigured: "Enable the Gmail API in the client's Google Cloud project.",
  SERVICE_DISABLED: "Enable the API that it names in the client's Google Cloud project.",
  insufficientPermissions: "The consent does not cover it: run `webhooks mail setup` again.",
  ACCESS_TOKEN_SCOPE_INSUFFICIENT: "The consent does not cover it: run `webhooks mail setup` again.",
};

/** Any error of a request to Google as a `MailError`; `doing` is what it was for: `read the mailbox`. */
export function toMailError(thrown: unknown, doing: string): MailError {
  if (thrown instanceof MailError) return thrown;
  const error = readGoogleError(thrown);
  const advice = error.reasons.map((reason) => ADVICE[reason]).find(Boolean);
  const message = [`Google: cannot ${doing}: ${toSentence(error.message)}`, advice].filter(Boolean).join(" ");
  return new MailError(toKind(error), message, { cause: thrown });
}

/** True where Google asks to be left alone for a while. */
export function isRateLimit({ status, reasons }: GoogleError): boolean {
  return status === 429 || (status === 403 && reasons.some((reason) => RATE_LIMITS.includes(reason)));
}

function toKind(error: GoogleError): MailError["kind"] {
  if (isRateLimit(error)) return "network";
  if (error.status === 401 || error.status === 403) return "login";
  if (error.reasons.some((reason) => OAUTH_REFUSALS.has(reason))) return "login";
  // What Gmail says of an account whose mail service is off.
  if (error.status === 404 || error.reasons.includes("failedPrecondition")) return "gone";
  return "network";
}

const OAUTH_REFUSALS = new Set(["invalid_grant", "invalid_client", "unauthorized_client", "invalid_scope"]);

function toSentence(message: string): string {
  return /[.!?]$/.test(message) ? message : `${message}.`;
}
