import { createHmac, createPublicKey, createSecretKey, type KeyObject, timingSafeEqual, verify } from "node:crypto";
import { sameSecret } from "../../core/shared/secret.ts";
import type { Bytes } from "../../core/ports/signature.ts";
import type { Algorithm, Encoding, SignatureRow, SigningKey, TimeUnit } from "./row.ts";

/** More values than any sender sends at once: one for each secret that is being rotated. */
const MAX_SIGNATURES = 8;
const MAX_HEADER_LENGTH = 8192;

/** Every value of a header, as it came. Node joins the values of repeated headers, which hides the repetition. */
export function valuesOf(rawHeaders: readonly string[], name: string): string[] {
  const values: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.toLowerCase() === name) values.push(rawHeaders[index + 1] ?? "");
  }
  return values;
}

/**
 * The bytes that the text encodes. The case of hex digits, padding, and the alphabet of base64 do not matter; undefined if anything
 * else differs from what encoding the bytes gives.
 */
export function decode(text: string, encoding: Encoding): Buffer | undefined {
  const bytes = Buffer.from(text, encoding);
  const isRight = bytes.length > 0 && normalize(bytes.toString(encoding), encoding) === normalize(text, encoding);
  return isRight ? bytes : undefined;
}

function normalize(text: string, encoding: Encoding): string {
  if (encoding === "hex") return text.toLowerCase();
  if (encoding === "latin1") return text;
  const unpadded = text.length % 4 === 0 ? text.replace(/={1,2}$/, "") : text;
  return unpadded.replaceAll("+", "-").replaceAll("/", "_");
}

/** Whether the text encodes these bytes. */
export function encodes(text: unknown, encoding: Encoding, bytes: Buffer): boolean {
  return typeof text === "string" && decode(text, encoding)?.equals(bytes) === true;
}

export interface SignatureHeader {
  /** By name in a list; by "" if the header is one signature. */
  signatures: Map<string, Buffer[]>;
  /** The time of a list. */
  timestamp?: string;
}

/** Undefined if the text is malformed. */
export function parseSignatureHeader(text: string, row: SignatureRow): SignatureHeader | undefined {
  if (text.length > MAX_HEADER_LENGTH) return undefined;
  return row.list ? parseList(text, row, row.list) : parseSingle(text, row);
}

function parseSingle(
  text: string,
  { header, prefix = "", encoding = "hex" }: SignatureRow,
): SignatureHeader | undefined {
  const start = text.slice(0, prefix.length);
  // The case of an authentication scheme does not matter (RFC 9110, 11.1).
  const isRight = header === "authorization" ? start.toLowerCase() === prefix.toLowerCase() : start === prefix;
  const signature = isRight ? decode(text.slice(prefix.length), encoding) : undefined;
  return signature && { signatures: new Map([["", [signature]]]) };
}

function parseList(
  text: string,
  { encoding = "hex" }: SignatureRow,
  { separator, assign = "=", signature: signatureName, timestamp: timestampName }: NonNullable<SignatureRow["list"]>,
): SignatureHeader | undefined {
  const signatures = new Map<string, Buffer[]>();
  let timestamp: string | undefined;
  let count = 0;
  // RFC 9110, 5.6.1: blanks around entries, and empty ones, mean nothing.
  const entries = text.split(separator).flatMap((entry) => entry.trim() || []);
  if (entries.length === 0) return undefined;
  for (const entry of entries) {
    const [name = "", ...rest] = entry.split(assign);
    const value = rest.join(assign);
    if (name === "" || value === "") return undefined;
    if (name === timestampName) {
      if (timestamp !== undefined) return undefined;
      timestamp = value;
    } else {
      const signature = decode(value, encoding);
      if (!signature && name === signatureName) return undefined;
      if (!signature || count++ >= MAX_SIGNATURES) continue;
      signatures.set(name, [...(signatures.get(name) ?? []), signature]);
    }
  }
  return { signatures, timestamp };
}

const DIGITS: Record<Exclude<TimeUnit, "iso">, RegExp> = { s: /^[1-9]\d{0,10}$/, ms: /^[1-9]\d{0,13}$/ };
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;

/** Milliseconds since the epoch; undefined if the text is malformed. */
export function parseTimestamp(text: string, unit: TimeUnit): number | undefined {
  if (unit === "iso") {
    const time = ISO_TIME.test(text) ? Date.parse(text) : Number.NaN;
    return Number.isNaN(time) ? undefined : time;
  }
  if (!DIGITS[unit].test(text)) return undefined;
  return unit === "s" ? Number(text) * 1000 : Number(text);
}

export function formatTimestamp(time: number, unit: TimeUnit): string {
  if (unit === "iso") return new Date(time).toISOString();
  return String(unit === "s" ? Math.floor(time / 1000) : time);
}

/** Throws an `Error` that says what the secret must be. */
export function createKey(algorithm: Algorithm, secret: string): SigningKey {
  if (algorithm.startsWith("hmac-")) return createHmacKey(secret, algorithm.slice("hmac-".length));
  if (algorithm === "secret") return createSharedSecret(secret);
  return algorithm === "ed25519" ? createEd25519Key(secret) : createEcdsaKey(secret);
}

export function createHmacKey(secret: string | Buffer, hash = "sha256"): SigningKey {
  // Several times faster than a buffer.
  const key = createSecretKey(Buffer.from(secret));
  const sign = (parts: readonly Bytes[]): Buffer => {
    const hmac = createHmac(hash, key);
    for (const part of parts) hmac.update(part);
    return hmac.digest();
  };
  return {
    sign,
    accepts(parts, signatures) {
      const expected = sign(parts);
      return signatures.some((given) => given.length === expected.length && timingSafeEqual(given, expected));
    },
  };
}

function createSharedSecret(secret: string): SigningKey {
  return {
    sign: () => Buffer.from(secret),
    accepts: (_, signatures) => signatures.some((given) => sameSecret(given, secret)),
  };
}

function createEd25519Key(secret: string): SigningKey {
  if (!/^[\da-f]{64}$/i.test(secret)) throw new Error("The secret must be the public key: 64 hex digits.");
  return toEd25519(Buffer.from(secret, "hex"));
}

/** `publicKey` has 32 bytes. */
function toEd25519(publicKey: Buffer): SigningKey {
  const key = createPublicKey({
    key: { kty: "OKP", crv: "Ed25519", x: publicKey.toString("base64url") },
    format: "jwk",
  });
  return createPublicVerifier(key, null);
}

/** `whsec_` and base64 is a shared secret, `whpk_` and base64 a public key. */
export function toStandardKey(secret: string): SigningKey {
  const [, kind, text = ""] = /^(whsec_|whpk_)?(.*)$/s.exec(secret) ?? [];
  const bytes = decode(text, "base64");
  if (!bytes) throw new Error("The secret must be base64 after whsec_ or whpk_.");
  if (kind !== "whpk_") return createHmacKey(bytes);
  if (bytes.length !== 32) throw new Error("The secret must be a public key of 32 bytes after whpk_.");
  return { ...toEd25519(bytes), name: "v1a" };
}

export function toBasicKey(secret: string): SigningKey {
  if (!secret.includes(":")) throw new Error("The secret must be user:password.");
  return createKey("secret", secret);
}

function createEcdsaKey(secret: string): SigningKey {
  try {
    const key = createPublicKey({ key: Buffer.from(secret, "base64"), format: "der", type: "spki" });
    if (key.asymmetricKeyType === "ec") return createPublicVerifier(key, "sha256");
  } catch {
    // Not a key at all. The message of OpenSSL would not help.
  }
  throw new Error("The secret must be the public key of an elliptic curve, in base64.");
}

function createPublicVerifier(key: KeyObject, hash: string | null): SigningKey {
  return {
    accepts(parts, signatures) {
      const text = Buffer.concat(parts);
      return signatures.some((signature) => verify(hash, text, key, signature));
    },
  };
}
