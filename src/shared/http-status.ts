/**
 * Client errors that another attempt may not meet: 408 Request Timeout, 409 Conflict (model providers answer it for a lock
 * that another request holds), 425 Too Early, 429 Too Many Requests.
 */
const RETRYABLE_CLIENT_ERRORS = new Set([408, 409, 425, 429]);

/**
 * Whether the same request can succeed later. A status below 400 is a proxy's or a maintenance page's where the service's
 * own answer was expected. Other client errors say that the request itself is wrong.
 */
export function isRetryableStatus(status: number): boolean {
  return status < 400 || status >= 500 || RETRYABLE_CLIENT_ERRORS.has(status);
}

/** Milliseconds of a `Retry-After` header: seconds or a date. */
export function parseRetryAfter(header: string | null | undefined, now: number = Date.now()): number | undefined {
  if (!header?.trim()) return undefined;
  const seconds = Number(header);
  const milliseconds = Number.isNaN(seconds) ? Date.parse(header) - now : Math.ceil(seconds * 1000);
  return Number.isNaN(milliseconds) ? undefined : Math.max(0, milliseconds);
}
