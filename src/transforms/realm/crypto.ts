import { defineGlobal } from "./harden.ts";
import { type Ask, fromBinary, toBinary } from "./host.ts";

type Algorithm = string | { name: string; hash?: Algorithm };

/** Adds the part of Web Crypto that a webhook needs: random values, digests, and HMAC keys from raw bytes. */
export function installCrypto(ask: Ask): void {
  class CryptoKey {
    readonly type = "secret";
    readonly extractable = false;
    readonly algorithm: { name: "HMAC"; hash: { name: string } };
    readonly #secret: string;

    constructor(secret: string, hash: string) {
      this.#secret = secret;
      this.algorithm = { name: "HMAC", hash: { name: hash } };
    }

    static sign(key: CryptoKey, data: unknown): string {
      return ask("hmac", key.algorithm.hash.name, key.#secret, toBinary(data));
    }
  }

  const subtle = {
    async digest(algorithm: Algorithm, data: unknown): Promise<ArrayBuffer> {
      return fromBinary(ask("digest", nameOf(algorithm), toBinary(data))).buffer;
    },
    async importKey(format: string, keyData: unknown, algorithm: Algorithm): Promise<CryptoKey> {
      requireHmac(algorithm);
      if (format !== "raw") throw new TypeError(`Only "raw" keys can be imported, not "${format}".`);
      return new CryptoKey(toBinary(keyData), hashOf(algorithm));
    },
    async sign(algorithm: Algorithm, key: CryptoKey, data: unknown): Promise<ArrayBuffer> {
      requireHmac(algorithm);
      return fromBinary(CryptoKey.sign(key, data)).buffer;
    },
    async verify(algorithm: Algorithm, key: CryptoKey, signature: unknown, data: unknown): Promise<boolean> {
      requireHmac(algorithm);
      return ask("equal", CryptoKey.sign(key, data), toBinary(signature)) === "true";
    },
  };

  defineGlobal("CryptoKey", CryptoKey);
  defineGlobal("crypto", {
    subtle,
    randomUUID: () => ask("randomUuid"),
    getRandomValues<Values extends ArrayBufferView>(values: Values): Values {
      const bytes = fromBinary(ask("randomBytes", String(values.byteLength)));
      new Uint8Array(values.buffer, values.byteOffset, values.byteLength).set(bytes);
      return values;
    },
  });
}

function nameOf(algorithm: Algorithm | undefined): string {
  return String(typeof algorithm === "object" ? algorithm.name : algorithm);
}

function hashOf(algorithm: Algorithm): string {
  return nameOf(typeof algorithm === "object" ? algorithm.hash : undefined);
}

function requireHmac(algorithm: Algorithm): void {
  const name = nameOf(algorithm);
  if (name.toUpperCase() !== "HMAC") throw new TypeError(`Only HMAC keys are supported here, not ${name}.`);
}
