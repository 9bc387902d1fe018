import type { Encoding, SignatureRow, TimeUnit } from "./row.ts";

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

/** Undefined if the text has any other form than the one that encoding the bytes gives. */
export function decodeStrictly(text: string, encoding: Encoding): Buffer | undefined {
  const bytes = Buffer.from(text, encoding);
  return bytes.length > 0 && bytes.toString(encoding) === text ? bytes : undefined;
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
  const signature = isRight ? decodeStrictly(text.slice(prefix.length), encoding) : undefined;
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
  for (const entry of text.split(separator)) {
    const [name = "", ...rest] = entry.split(assign);
    const value = rest.join(assign);
    if (name === "" || value === "") return undefined;
    if (name === timestampName) {
      if (timestamp !== undefined) return undefined;
      timestamp = value;
    } else {
      const signature = decodeStrictly(value, encoding);
      if (!signature && name === signatureName) return undefined;
      if (!signature || count++ >= MAX_SIGNATURES) continue;
      signatures.set(name, [...(signatures.get(name) ?? []), signature]);
    }
  }
  return { signatures, timestamp };
}

const DIGITS: Record<Exclude<TimeUnit, "iso">, RegExp> = { s: /^[1-9]\d{0,10}$/, ms: /^[1-9]\d{0,13}$/ };
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/;

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
