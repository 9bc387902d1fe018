import { createHmac, hash, timingSafeEqual } from "node:crypto";
import { ExactNumber } from "./exact-json.ts";

/** A header for the hook token when `Authorization` is used for something else. */
export const TOKEN_HEADER = "x-gateway-token";
/** The same header of OpenClaw, with `hooks.compat`. */
export const OPENCLAW_TOKEN_HEADER = "x-openclaw-token";
/** The deprecated query parameter for the hook token. */
export const TOKEN_PARAMETER = "token";

/** Headers with a sender's secrets. They are removed before templates, transforms and the journal. */
export const SECRET_HEADERS: ReadonlySet<string> = new Set([
  "authorization",
  "proxy-authorization",
  "cookie",
  TOKEN_HEADER,
  OPENCLAW_TOKEN_HEADER,
]);

/** The `Authorization` header for a token. Headers are Latin-1, so other characters are sent as their UTF-8 bytes. */
export function toBearer(token: string): string {
  return `Bearer ${Buffer.from(token).toString("latin1")}`;
}

/** The bytes of a Bearer token in an `Authorization` header; undefined for another scheme or an empty token. */
export function bearerOf(authorization: string | undefined): Buffer | undefined {
  if (authorization === undefined) return undefined;
  // The scheme's case does not matter (RFC 9110, 11.1). Most senders write it so.
  const token = authorization.startsWith("Bearer ")
    ? authorization.slice(7).trim()
    : /^bearer +(.*)$/i.exec(authorization)?.[1]?.trim();
  // Node decodes header bytes as Latin-1. Encoding them again gives the sender's bytes, for tokens in UTF-8.
  return token ? Buffer.from(token, "latin1") : undefined;
}

/** Each without the white space around it: one from a file or a shell tends to end in a line break. */
export function toSecrets(written: string | readonly string[] = []): string[] {
  return [written].flat().map((text) => text.trim());
}

/** Compares in constant time. */
export function sameSecret(one: string | Uint8Array, other: string | Uint8Array): boolean {
  return timingSafeEqual(digestOf(one), digestOf(other));
}

/** Digests have the same length, so comparing them does not reveal the length of the secrets. */
export function digestOf(secret: string | Uint8Array): Buffer {
  // The digest as text and back takes half the time of the digest as a buffer.
  return Buffer.from(hash("sha256", secret, "binary"), "binary");
}

export const REDACTED = "[redacted]";

/** Anywhere in a name without its separators, so that `api_key`, `X-Api-Key` and `apiKey` are the same. */
const SECRET_PART =
  /auth(?!or(?!i[sz]))|cookie|token|secret|signature|apikey|accesskey|privatekey|passw|passphrase|pwd|credential|bearer|jwt|hmac|session/;

/** Words that are secret as a whole. A key or code often is, but not one that names something, such as `x-event-key`. */
const SECRET_WORD = new RegExp(
  [
    "(?:^|-)(?:sign?|t?otp|mfa|pin|csrf|xsrf|pw|psk)(?:-|$)",
    "(?:^|-)pass(?:code|key)?(?:-|$)(?!through|thru|rate|count)",
    "^x-trello-webhook$",
    "(?:^|-)(?<!(?:event|idempotency|dedupe|issue|project|object|partition|ordering|message|cache|public)-)key$",
    "^(?:x-)?code$|(?:access|verification|security|confirmation|invite|device|login)-code$",
  ].join("|"),
);

/** The parameters of an address, in the query and in the fragment. */
const PARAMETER = /(?<=[?&;#])([^=&?#;\s"'<>,]+)=([^&#;\s"'<>,]+)/g;
/** `user:password@` before the host of an address. The last `@` ends it. */
const USER_INFO = /(?<=:\/\/)[^\s/?#]+(?=@)/g;

/**
 * A copy without the values whose names look like secrets, and without the secrets in addresses such as a `referer`; the same
 * object if there are none.
 */
export function redact(values: Record<string, string>): Record<string, string> {
  for (const name in values) {
    const value = values[name] ?? "";
    if (redactValue(name, value) === value) continue;
    return Object.fromEntries(Object.entries(values).map(([key, text]) => [key, redactValue(key, text)]));
  }
  return values;
}

function redactValue(name: string, value: string): string {
  return isSecretName(name) ? REDACTED : redactAddress(value);
}

/** The same names come with every request, and the expressions are slow. */
const knownNames = new Map<string, boolean>();
const MAX_KNOWN_NAMES = 500;
const MAX_KNOWN_LENGTH = 64;

function isSecretName(name: string): boolean {
  const known = knownNames.get(name);
  if (known !== undefined) return known;
  const isSecret = looksSecret(name);
  if (knownNames.size < MAX_KNOWN_NAMES && name.length <= MAX_KNOWN_LENGTH) knownNames.set(name, isSecret);
  return isSecret;
}

function looksSecret(name: string): boolean {
  // The escapes of an address are separators too.
  const words = name.replace(/%[\da-f]{2}/gi, "-").replace(/([a-z\d])(?=[A-Z])/g, "$1-");
  const kebab = words.toLowerCase().replace(/[^a-z\d]+/g, "-");
  return SECRET_WORD.test(kebab) || SECRET_PART.test(kebab.replaceAll("-", ""));
}

/** A text without the secrets in the addresses that it contains. */
export function redactAddress(value: string): string {
  if (!value.includes("=") && !value.includes("@")) return value;
  return value
    .replace(USER_INFO, REDACTED)
    .replace(PARAMETER, (whole, name: string) => (isSecretName(name) ? `${name}=${REDACTED}` : whole));
}

/** A copy of a JSON value without the values whose names look like secrets. */
export function redactNames(value: unknown): unknown {
  if (typeof value !== "object" || value === null || value instanceof ExactNumber) return value;
  if (Array.isArray(value)) return value.map(redactNames);
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, isSecretName(name) ? REDACTED : redactNames(item)]),
  );
}

/** The texts in a value whose names look like secrets, or that are headers, by their keys. Shorter ones are words. */
export function listSecrets(value: unknown, key: string, isSecret = false): [key: string, secret: string][] {
  if (typeof value === "string") return isSecret && value.trim().length >= MIN_SECRET ? [[key, value.trim()]] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, item]) =>
    listSecrets(item, `${key}.${name}`, isSecret || name === "headers" || name === "secrets" || isSecretName(name)),
  );
}

const MIN_SECRET = 8;

/** Keys from the outside in. An index is its digits, `*` means each key or item. */
export type PayloadPath = readonly string[];

/** A copy of the payload with the values at these paths replaced; the payload itself if there are none. */
export function redactPayload(payload: unknown, paths: readonly PayloadPath[]): unknown {
  return paths.reduce(redactAt, payload);
}

function redactAt(value: unknown, [key, ...rest]: PayloadPath): unknown {
  if (key === undefined) return REDACTED;
  if (typeof value !== "object" || value === null) return value;
  const entries: [string, unknown][] = Object.entries(value);
  const redacted = entries.map(([name, item]): [string, unknown] => [
    name,
    key === "*" || key === name ? redactAt(item, rest) : item,
  ]);
  if (redacted.every(([, item], index) => item === entries[index]?.[1])) return value;
  // `fromEntries` creates a field even for `__proto__`.
  return Array.isArray(value) ? redacted.map(([, item]) => item) : Object.fromEntries(redacted);
}

/** Signs texts with the key of a store. */
export function createSign(key: Uint8Array): (text: string) => Uint8Array {
  return (text) => createHmac("sha256", key).update(text).digest();
}
