import { messageOf } from "../../errors.ts";
import type { HostReply } from "../realm/host.ts";

type Operation = (...args: string[]) => string;

/** Loaded at its first use: a child starts 7 % faster without it. */
const crypto = () => process.getBuiltinModule("node:crypto");

const URL_PARTS = [
  "href",
  "origin",
  "protocol",
  "username",
  "password",
  "host",
  "hostname",
  "port",
  "pathname",
  "search",
  "hash",
] as const;
const DIGESTS = ["SHA-1", "SHA-256", "SHA-384", "SHA-512"];
const MAX_RANDOM_BYTES = 65_536;

/**
 * Computed in the child for its isolates, because a bare isolate cannot: pure functions of strings, and random numbers.
 * Bytes are binary text, one character per byte. No operation may touch a file, a process or the network.
 */
const OPERATIONS: Record<string, Operation> = {
  encode: (text) => Buffer.from(text, "utf8").toString("latin1"),
  encodingName: (label) => new TextDecoder(label).encoding,
  decode: (label, fatal, ignoreBOM, binary) =>
    new TextDecoder(label, { fatal: Boolean(fatal), ignoreBOM: Boolean(ignoreBOM) }).decode(toBytes(binary)),
  decodePart: (label, fatal, ignoreBOM, binary) => {
    const bytes = toBytes(binary);
    const options = { fatal: Boolean(fatal), ignoreBOM: Boolean(ignoreBOM) };
    const text = new TextDecoder(label, options).decode(bytes, { stream: true });
    return JSON.stringify({ text, left: bytes.subarray(findWhole(bytes, text, label, options)).toString("latin1") });
  },
  atob: (text) => atob(text),
  btoa: (text) => btoa(text),
  parseUrl: (url, base) => toParts(new URL(url, base)),
  setUrlPart(href, part, value) {
    const url = new URL(href);
    Reflect.set(url, requireOneOf(URL_PARTS, part), value);
    return toParts(url);
  },
  parseQuery: (search) => JSON.stringify([...new URLSearchParams(search)]),
  writeQuery: (pairs) => new URLSearchParams(JSON.parse(pairs)).toString(),
  randomUuid: () => crypto().randomUUID(),
  randomBytes: (size) =>
    crypto()
      .randomBytes(Math.min(Number(size), MAX_RANDOM_BYTES))
      .toString("latin1"),
  digest: (name, binary) => crypto().createHash(toDigest(name)).update(toBytes(binary)).digest("binary"),
  hmac: (name, key, binary) =>
    crypto().createHmac(toDigest(name), toBytes(key)).update(toBytes(binary)).digest("binary"),
  equal: (one, other) => String(one.length === other.length && crypto().timingSafeEqual(toBytes(one), toBytes(other))),
};

/** Runs one operation for an isolate. Never throws, because an error that crosses into an isolate reveals more than text. */
export function runHostOperation(operation: string, args: string): string {
  let reply: HostReply;
  try {
    if (!Object.hasOwn(OPERATIONS, operation)) throw new TypeError("Unknown operation.");
    const values: string[] = JSON.parse(args);
    reply = { value: OPERATIONS[operation]!(...values) };
  } catch (error) {
    reply = { error: messageOf(error) };
  }
  return JSON.stringify(reply);
}

/** No encoding has longer characters. */
const MAX_CHARACTER_BYTES = 4;

/** How many of the bytes are the text, without the beginning of a character at their end. */
function findWhole(
  bytes: Buffer,
  text: string,
  label: string,
  options: { fatal: boolean; ignoreBOM: boolean },
): number {
  for (let length = bytes.length; length > bytes.length - MAX_CHARACTER_BYTES && length > 0; length--) {
    try {
      if (new TextDecoder(label, options).decode(bytes.subarray(0, length)) === text) return length;
    } catch {
      // With `fatal`: it ends within a character.
    }
  }
  if (text === "") return 0;
  throw new TypeError(`${label} cannot be decoded in parts here.`);
}

function toParts(url: URL): string {
  return JSON.stringify(Object.fromEntries(URL_PARTS.map((part) => [part, url[part]])));
}

function toBytes(binary: string): Buffer {
  return Buffer.from(binary, "latin1");
}

function toDigest(name: string): string {
  return requireOneOf(DIGESTS, name.toUpperCase()).replace("-", "").toLowerCase();
}

function requireOneOf(known: readonly string[], name: string): string {
  if (!known.includes(name)) throw new TypeError(`Expected one of ${known.join(", ")}, not ${name}.`);
  return name;
}
