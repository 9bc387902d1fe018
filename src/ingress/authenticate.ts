import { HookError } from "../errors.ts";
import type { Log } from "../telemetry/log.ts";
import { findCredential, isToken } from "./credential.ts";
import type { Credential } from "./credential.ts";
import type { Exchange } from "./exchange.ts";
import { createThrottle } from "./throttle.ts";

/** RFC 9745: since when the query form is deprecated, 2026-11-01 as Unix seconds. */
const DEPRECATION_HEADERS = {
  Deprecation: "@1793491200",
  Warning: '299 - "The query parameter token is deprecated: send the header Authorization: Bearer instead"',
};

/** Throws the 401 or 429 of a request that does not show `token`; returns when it does. */
export type Authenticate = (exchange: Exchange, query: Record<string, string>, token: string) => void;

/** Keeps count of failures, so that tokens cannot be guessed at speed. A right token always passes. */
export function createAuthenticate(log: Log): Authenticate {
  const throttle = createThrottle();

  return function authenticate(exchange, query, token): void {
    const { client } = exchange;
    const credential = findCredential(exchange.req.headers, query);
    if (credential?.form === "query") noteDeprecated(exchange);
    if (credential && isToken(credential.secret, token)) {
      throttle.reset(client);
      if (credential.form === "query") warnDeprecated(log, exchange);
      return;
    }
    const waitMs = throttle.waitMs(client);
    if (waitMs > 0) throw tooManyFailures(waitMs);
    throttle.fail(client);
    throw unauthorized(credential);
  };
}

/** Set on the response at once, so that every later answer to this request bears them, errors too. */
function noteDeprecated({ res }: Exchange): void {
  for (const [name, value] of Object.entries(DEPRECATION_HEADERS)) res.setHeader(name, value);
}

/** Only for requests that are let in: others could fill the log from outside. */
function warnDeprecated(log: Log, { id, client }: Exchange): void {
  log.warn("the hook token came as a query parameter, which is deprecated: use Authorization: Bearer", {
    requestId: id,
    client,
  });
}

function unauthorized(credential: Credential | undefined): HookError {
  const message = credential ? "The hook token is wrong." : "The hook token is missing.";
  return new HookError(401, "unauthorized", `${message} Send it as Authorization: Bearer.`, {
    headers: { "WWW-Authenticate": "Bearer" },
  });
}

function tooManyFailures(waitMs: number): HookError {
  return new HookError(429, "too_many_failures", "Too many failed credentials from this address.", {
    headers: { "Retry-After": String(Math.ceil(waitMs / 1000)) },
  });
}
