import { hash, timingSafeEqual } from "node:crypto";
import { isObject } from "./json.ts";

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

/** The bytes of a Bearer token in an `Authorization` header; undefined for another scheme or an empty token. */
export function bearerOf(authorization: string | undefined): Buffer | undefined {
  // The scheme's case does not matter (RFC 9110, 11.1).
  const token = /^bearer +(.*)$/i.exec(authorization ?? "")?.[1]?.trim();
  // Node reads header bytes as Latin-1; this gives the bytes back, so that a token in UTF-8 compares equal.
  return token ? Buffer.from(token, "latin1") : undefined;
}

/** Compares in a time that tells nothing about either secret. */
export function sameSecret(one: string | Buffer, other: string | Buffer): boolean {
  return timingSafeEqual(digestOf(one), digestOf(other));
}

/** Digests have one length, so comparing them does not tell the length of the secrets. */
export function digestOf(secret: string | Buffer): Buffer {
  return hash("sha256", secret, "buffer");
}

/** What is kept in the place of a secret. */
export const REDACTED = "[redacted]";

/** Within a name of which only letters and digits are left, so that `api_key`, `X-Api-Key` and `apiKey` are one. */
const SECRET_NAME =
  /auth(?!or(?!i[sz]))|cookie|token|secret|signature|apikey|accesskey|privatekey|passw|passphrase|pwd|credential|bearer|jwt|hmac|session|^sig$/;

/** Values that must not be kept, replaced; names stay, so that the operator sees what was there. */
export function redact(values: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      SECRET_NAME.test(name.toLowerCase().replace(/[^a-z0-9]/g, "")) ? REDACTED : value,
    ]),
  );
}

/** Keys from the outside in; an index is its digits, `*` stands for every key or item. */
export type PayloadPath = readonly string[];

/** The payload with what the paths lead to replaced; the very same value where they lead to nothing. */
export function redactPayload(payload: unknown, paths: readonly PayloadPath[]): unknown {
  return paths.reduce(redactAt, payload);
}

/** Only what lies on the path is copied. */
function redactAt(value: unknown, path: PayloadPath): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return REDACTED;
  if (Array.isArray(value)) return redactItems(value, key, rest);
  return isObject(value) ? redactFields(value, key, rest) : value;
}

function redactItems(items: unknown[], key: string, rest: PayloadPath): unknown[] {
  const redacted = items.map((item, index) => (isMeant(String(index), key) ? redactAt(item, rest) : item));
  return redacted.some((item, index) => item !== items[index]) ? redacted : items;
}

function redactFields(fields: Record<string, unknown>, key: string, rest: PayloadPath): object {
  const redacted = Object.entries(fields).map(([name, value]): [string, unknown] => [
    name,
    isMeant(name, key) ? redactAt(value, rest) : value,
  ]);
  const changed = redacted.some(([name, value]) => value !== fields[name]);
  // Makes a field of its own even of `__proto__`.
  return changed ? Object.fromEntries(redacted) : fields;
}

function isMeant(name: string, key: string): boolean {
  return key === "*" || key === name;
}
