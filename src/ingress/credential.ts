import type { IncomingHttpHeaders } from "node:http";
import { sameSecret, TOKEN_HEADER, TOKEN_PARAMETER } from "../config/secret.ts";

/** What a request shows to be let in. */
export interface Credential {
  form: "bearer" | "header" | "query";
  secret: Buffer;
}

/** The credential of highest precedence that is present; it alone decides, so a wrong one is not rescued by another. */
export function findCredential(
  headers: IncomingHttpHeaders,
  query: Record<string, string>,
): Credential | undefined {
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
