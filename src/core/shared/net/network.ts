import { isIPv4 } from "node:net";
import { networkInterfaces } from "node:os";

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

/** Whether a host as a configuration names it can only be this machine. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, "$1");
  return name === "localhost" || name === "::1" || (isIPv4(name) && name.startsWith("127."));
}

/** Whether a client's address is one of this machine. */
export function isThisMachine(address: string): boolean {
  const own = Object.values(networkInterfaces()).flat();
  return isLoopback(address) || own.some((each) => each?.address === address);
}

/** Puts the system's code for a host that cannot be reached into words; undefined for any other code. */
export function describeUnreachable(code: unknown, host: string, port: number | string): string | undefined {
  switch (code) {
    case "ENOTFOUND":
      return `the host ${host} does not exist`;
    case "EAI_AGAIN":
      return `the host ${host} cannot be looked up: no name server answers`;
    case "ECONNREFUSED":
      return `nothing listens at ${host}:${port}`;
    case "EHOSTUNREACH":
    case "ENETUNREACH":
      return `${host} cannot be reached: is this machine online?`;
    default:
      return undefined;
  }
}

/** The text of an answer up to a number of characters; the rest is not read. */
export async function readText(response: Response, maxLength: number): Promise<string> {
  if (!response.body) return "";
  const decoder = new TextDecoder();
  let text = "";
  // Leaving the loop ends the connection.
  for await (const chunk of response.body) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > maxLength) return text.slice(0, maxLength);
  }
  return text + decoder.decode();
}
