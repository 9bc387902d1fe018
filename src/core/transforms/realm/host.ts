import { defineGlobal, nameObjects } from "./harden.ts";

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

/** In UTF-16 code units, or bytes. More at once would exceed the length of an argument. */
const CHUNK_LENGTH = 512 * 1024;

/** Adds `TextEncoder`, `TextDecoder`, `atob` and `btoa`. */
export function installEncoding(callHost: CallHost): void {
  class TextEncoder {
    readonly encoding = "utf-8";

    encode(value: unknown = ""): Uint8Array<ArrayBuffer> {
      const text = String(value).toWellFormed();
      const chunks: string[] = [];
      for (let start = 0; start < text.length || start === 0;) {
        // The two halves of a character stay together.
        const end = start + CHUNK_LENGTH - (isHighSurrogate(text.charCodeAt(start + CHUNK_LENGTH - 1)) ? 1 : 0);
        chunks.push(callHost("encode", text.slice(start, end)));
        start = end;
      }
      return fromBinary(chunks.join(""));
    }

    encodeInto(value: unknown, target: Uint8Array): { read: number; written: number } {
      let read = 0;
      let written = 0;
      for (const character of String(value).toWellFormed()) {
        const bytes = this.encode(character);
        if (written + bytes.length > target.length) break;
        target.set(bytes, written);
        read += character.length;
        written += bytes.length;
      }
      return { read, written };
    }
  }

  class TextDecoder {
    readonly encoding: string;
    readonly fatal: boolean;
    readonly ignoreBOM: boolean;
    /** The beginning of a character whose other bytes come with the next call. */
    #held = "";
    #isBeginning = true;

    constructor(label: unknown = "utf-8", options: { fatal?: boolean; ignoreBOM?: boolean } = {}) {
      this.fatal = Boolean(options.fatal);
      this.ignoreBOM = Boolean(options.ignoreBOM);
      this.encoding = callHost("encodingName", String(label));
    }

    decode(bytes: unknown = new Uint8Array(), { stream }: { stream?: unknown } = {}): string {
      const binary = toBinary(bytes);
      let text = "";
      let start = 0;
      for (; binary.length - start > CHUNK_LENGTH; start += CHUNK_LENGTH) {
        text += this.#decodePart(binary.slice(start, start + CHUNK_LENGTH));
      }
      if (stream) return text + this.#decodePart(binary.slice(start));
      const last = this.#held + binary.slice(start);
      const ignoresMark = this.ignoreBOM || !this.#isBeginning;
      this.#held = "";
      this.#isBeginning = true;
      return text + callHost("decode", this.encoding, this.fatal, ignoresMark, last);
    }

    #decodePart(part: string): string {
      const ignoresMark = this.ignoreBOM || !this.#isBeginning;
      const reply = callHost("decodePart", this.encoding, this.fatal, ignoresMark, this.#held + part);
      const { text, left }: { text: string; left: string } = JSON.parse(reply);
      if (this.#held.length + part.length > left.length) this.#isBeginning = false;
      this.#held = left;
      return text;
    }
  }
  nameObjects("TextEncoder", TextEncoder);
  nameObjects("TextDecoder", TextDecoder);
  defineGlobal("TextEncoder", TextEncoder);
  defineGlobal("TextDecoder", TextDecoder);
  for (const name of ["atob", "btoa"]) defineGlobal(name, { [name]: (text: unknown) => convert(name, text) }[name]);

  function convert(operation: string, text: unknown): string {
    try {
      return callHost(operation, String(text));
    } catch (error) {
      // A text that is too long for the sandbox has a RangeError.
      if (!(error instanceof TypeError)) throw error;
      throw new DOMException(error.message, "InvalidCharacterError");
    }
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd8_00 && code <= 0xdb_ff;
}

type Algorithm = string | { name: string; hash?: Algorithm };

/** Adds the part of Web Crypto that a webhook needs: random values, digests, and HMAC keys from raw bytes. */
export function installCrypto(callHost: CallHost): void {
  class CryptoKey {
    readonly type = "secret";
    readonly extractable = false;
    readonly algorithm: { name: "HMAC"; hash: { name: string } };
    readonly usages: string[];
    readonly #secret: string;

    constructor(secret: string, hash: string, usages: string[]) {
      this.#secret = secret;
      this.usages = usages;
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
    async importKey(
      ...[format, keyData, algorithm, , usages = []]: [string, unknown, Algorithm, unknown?, Iterable<string>?]
    ): Promise<CryptoKey> {
      requireHmac(algorithm);
      if (format !== "raw") throw new TypeError(`Only "raw" keys can be imported, not "${format}".`);
      return new CryptoKey(toBinary(keyData), nameOf(typeof algorithm === "object" ? algorithm.hash : undefined), [
        ...usages,
      ]);
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
