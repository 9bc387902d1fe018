import { hash, timingSafeEqual } from "node:crypto";

/** The header that carries the hook token where `Authorization` is taken. */
export const TOKEN_HEADER = "x-gateway-token";
/** The deprecated query parameter that does. */
export const TOKEN_PARAMETER = "token";

/** Headers with a caller's secrets: no template, no transform and no record sees them. */
export const SECRET_HEADERS: ReadonlySet<string> = new Set([
  "authorization",
  "proxy-authorization",
  "cookie",
  TOKEN_HEADER,
]);

/** The `Authorization` header that shows a token: headers take bytes alone, so that one beyond ASCII travels as UTF-8. */
export function toBearer(token: string): string {
  return `Bearer ${Buffer.from(token).toString("latin1")}`;
}

/** Compares in a time that tells nothing about either secret, its length included: both are hashed first. */
export function sameSecret(one: string | Buffer, other: string | Buffer): boolean {
  return timingSafeEqual(hash("sha256", one, "buffer"), hash("sha256", other, "buffer"));
}
