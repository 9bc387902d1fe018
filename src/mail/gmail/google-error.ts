import { isObject } from "../../config/is-object.ts";
import { messageOf } from "../../errors.ts";
import { cleanLine } from "../content/clean.ts";

/** What Google says of a request that it refused, or that never reached it. */
export interface GoogleError {
  /** Absent: there was no answer. */
  status: number | undefined;
  /** `rateLimitExceeded`, `invalid_grant`, `NOT_FOUND`: all that it is called by. */
  reasons: string[];
  /** One line, bounded. */
  message: string;
}

const MOST_CHARACTERS = 300;

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
  return cleanLine(typeof message === "string" ? message : "no reason given", MOST_CHARACTERS);
}
