import { createHmac, createPublicKey, createSecretKey, type KeyObject, timingSafeEqual, verify } from "node:crypto";
import { sameSecret } from "../shared/secret.ts";
import { decodeStrictly } from "./header.ts";
import type { Bytes } from "./provider.ts";
import type { Algorithm, SigningKey } from "./row.ts";

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
  if (!/^[\da-f]{64}$/i.test(secret)) throw new Error("must be the public key: 64 hex digits");
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
  const bytes = decodeStrictly(text, "base64");
  if (!bytes) throw new Error("must be base64 after whsec_ or whpk_");
  if (kind !== "whpk_") return createHmacKey(bytes);
  if (bytes.length !== 32) throw new Error("must be a public key of 32 bytes after whpk_");
  return { ...toEd25519(bytes), name: "v1a" };
}

export function toBasicKey(secret: string): SigningKey {
  if (!secret.includes(":")) throw new Error("must be user:password");
  return createKey("secret", secret);
}

function createEcdsaKey(secret: string): SigningKey {
  try {
    const key = createPublicKey({ key: Buffer.from(secret, "base64"), format: "der", type: "spki" });
    if (key.asymmetricKeyType === "ec") return createPublicVerifier(key, "sha256");
  } catch {
    // Not a key at all. The message of OpenSSL would not help.
  }
  throw new Error("must be the public key of an elliptic curve, in base64");
}

function createPublicVerifier(key: KeyObject, hash: string | null): SigningKey {
  return {
    accepts(parts, signatures) {
      const text = Buffer.concat(parts);
      return signatures.some((signature) => verify(hash, text, key, signature));
    },
  };
}
