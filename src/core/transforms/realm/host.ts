import { defineGlobal } from "./harden.ts";

/** The only way out of an isolate: the name of a child's operation and its arguments as JSON, strings both ways. */
export type HostBridge = (operation: string, args: string) => string;

/** The child's reply to an operation; it crosses as JSON. */
export type HostReply = { value: string } | { error: string };

const MAX_ARGUMENT_LENGTH = 4 * 1024 * 1024;

/** Calls an operation of the child; throws a TypeError with the child's message if it fails. */
export type CallHost = (operation: string, ...args: (string | boolean)[]) => string;

export function createCallHost(bridge: HostBridge): CallHost {
  return function callHost(operation, ...args) {
    const text = JSON.stringify(args);
    if (text.length > MAX_ARGUMENT_LENGTH) throw new RangeError("The argument is too long for the sandbox.");
    const reply: HostReply = JSON.parse(bridge(operation, text));
    if ("error" in reply) throw new TypeError(reply.error);
    return reply.value;
  };
}

/** Adds `TextEncoder`, `TextDecoder` (without streaming), `atob` and `btoa`. */
export function installEncoding(callHost: CallHost): void {
  class TextEncoder {
    readonly encoding = "utf-8";

    encode(text: unknown = ""): Uint8Array {
      return fromBinary(callHost("encode", String(text)));
    }
  }

  class TextDecoder {
    readonly encoding: string;
    readonly fatal: boolean;
    readonly ignoreBOM: boolean;

    constructor(label: unknown = "utf-8", options: { fatal?: boolean; ignoreBOM?: boolean } = {}) {
      this.fatal = Boolean(options.fatal);
      this.ignoreBOM = Boolean(options.ignoreBOM);
      this.encoding = callHost("encodingName", String(label));
    }

    decode(bytes: unknown = new Uint8Array()): string {
      return callHost("decode", this.encoding, this.fatal, this.ignoreBOM, toBinary(bytes));
    }
  }

  defineGlobal("TextEncoder", TextEncoder);
  defineGlobal("TextDecoder", TextDecoder);
  defineGlobal("atob", (text: unknown) => callHost("atob", String(text)));
  defineGlobal("btoa", (text: unknown) => callHost("btoa", String(text)));
}

type Algorithm = string | { name: string; hash?: Algorithm };

/** Adds the part of Web Crypto that a webhook needs: random values, digests, and HMAC keys from raw bytes. */
export function installCrypto(callHost: CallHost): void {
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
      return callHost("hmac", key.algorithm.hash.name, key.#secret, toBinary(data));
    }
  }

  const subtle = {
    async digest(algorithm: Algorithm, data: unknown): Promise<ArrayBuffer> {
      return fromBinary(callHost("digest", nameOf(algorithm), toBinary(data))).buffer;
    },
    async importKey(format: string, keyData: unknown, algorithm: Algorithm): Promise<CryptoKey> {
      requireHmac(algorithm);
      if (format !== "raw") throw new TypeError(`Only "raw" keys can be imported, not "${format}".`);
      return new CryptoKey(toBinary(keyData), nameOf(typeof algorithm === "object" ? algorithm.hash : undefined));
    },
    async sign(algorithm: Algorithm, key: CryptoKey, data: unknown): Promise<ArrayBuffer> {
      requireHmac(algorithm);
      return fromBinary(CryptoKey.sign(key, data)).buffer;
    },
    async verify(algorithm: Algorithm, key: CryptoKey, signature: unknown, data: unknown): Promise<boolean> {
      requireHmac(algorithm);
      return callHost("equal", CryptoKey.sign(key, data), toBinary(signature)) === "true";
    },
  };

  defineGlobal("CryptoKey", CryptoKey);
  defineGlobal("crypto", {
    subtle,
    randomUUID: () => callHost("randomUuid"),
    getRandomValues<Values extends ArrayBufferView>(values: Values): Values {
      const bytes = fromBinary(callHost("randomBytes", String(values.byteLength)));
      new Uint8Array(values.buffer, values.byteOffset, values.byteLength).set(bytes);
      return values;
    },
  });
}

function nameOf(algorithm: Algorithm | undefined): string {
  return String(typeof algorithm === "object" ? algorithm.name : algorithm);
}

function requireHmac(algorithm: Algorithm): void {
  const name = nameOf(algorithm);
  if (name.toUpperCase() !== "HMAC") throw new TypeError(`Only HMAC keys are supported here, not ${name}.`);
}

/** Bytes cross as text, one character of U+0000 to U+00FF per byte. */
function toBinary(source: unknown): string {
  const bytes = toBytes(source);
  let text = "";
  // More arguments per call could exhaust the stack.
  for (let start = 0; start < bytes.length; start += 8192) {
    text += String.fromCharCode(...bytes.subarray(start, start + 8192));
  }
  return text;
}

function fromBinary(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index++) bytes[index] = text.charCodeAt(index);
  return bytes;
}

function toBytes(source: unknown): Uint8Array {
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  throw new TypeError("Expected an ArrayBuffer, a typed array or a DataView.");
}
