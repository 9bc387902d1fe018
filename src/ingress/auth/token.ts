import type { IncomingHttpHeaders } from "node:http";
import { HookError } from "../../errors.ts";
import { sameSecret, TOKEN_HEADER, TOKEN_PARAMETER } from "../../shared/secret.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Exchange } from "../exchange.ts";
import { createGuessGuard } from "./throttle.ts";

/** RFC 9745: since when the query form is deprecated, 2026-11-01 as Unix seconds. */
const DEPRECATION_HEADERS = {
  Deprecation: "@1793491200",
  Warning: '299 - "The query parameter token is deprecated: send the header Authorization: Bearer instead"',
};

/** Throws the 401 or 429 of a request that does not show `token`; returns when it does. */
export type Authenticate = (exchange: Exchange, query: Record<string, string>, token: string) => void;

/** The check of the hook token. */
export function createAuthenticate(log: Log): Authenticate {
  const guard = createGuessGuard();

  return function authenticate(exchange, query, token): void {
    const { client } = exchange;
    const credential = findCredential(exchange.req.headers, query);
    if (credential?.form === "query") noteDeprecated(exchange);
    if (credential && isToken(credential.secret, token)) {
      guard.passed(client);
      if (credential.form === "query") warnDeprecated(log, exchange);
      return;
    }
    guard.failed(client);
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
  return new HookError("unauthorized", { message: `${message} Send it as Authorization: Bearer.` });
}

/** What a request shows to be let in. */
export interface Credential {
  form: "bearer" | "header" | "query";
  secret: Buffer;
}

/** The credential of highest precedence that is present; it alone decides, so a wrong one is not rescued by another. */
export function findCredential(headers: IncomingHttpHeaders, query: Record<string, string>): Credential | undefined {
  const bearer = bearerOf(headers.authorization);
  if (bearer !== undefined) return { form: "bearer", secret: headerBytes(bearer) };
  const header = headers[TOKEN_HEADER];
  if (typeof header === "string") return { form: "header", secret: headerBytes(header) };
  const parameter = query[TOKEN_PARAMETER];
  return parameter === undefined ? undefined : { form: "query", secret: Buffer.from(parameter) };
}

/** No token at all lets nobody in. */
export function isToken(secret: Buffer, token: string): boolean {
  return token !== "" && sameSecret(secret, token);
}

/** The scheme's case does not matter (RFC 9110, 11.1). */
function bearerOf(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined;
  const [scheme = ""] = authorization.split(" ", 1);
  return scheme.toLowerCase() === "bearer" ? authorization.slice(scheme.length).trim() : undefined;
}

/** Node reads header bytes as Latin-1; this gives the bytes back, so that a token in UTF-8 compares equal. */
function headerBytes(value: string): Buffer {
  return Buffer.from(value, "latin1");
}
