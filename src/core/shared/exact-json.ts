import { type Path, readPath, replaceAt, toObject } from "./json.ts";

// JavaScript rounds numbers: 12345678901234567890 becomes 12345678901234567000, and 1e400 Infinity. Where such a number is
// written, it should read as in the JSON that it came from.

/** A number that JavaScript may round, with its text. `JSON.stringify` writes the text. */
export class ExactNumber extends Number {
  readonly #text: string;

  constructor(text: string) {
    super(text);
    this.#text = text;
  }

  override toString(): string {
    return this.#text;
  }

  toJSON(): unknown {
    return rawJson?.(this.#text) ?? Number(this);
  }
}

/** Browsers have it since 2025. */
const rawJson: ((text: string) => object) | undefined = Reflect.get(JSON, "rawJSON");

/** 16 digits or more outside of words and quoted text, or an exponent of three digits. */
const LONG_NUMBER = /(?<![\w".])\d[\d.]{15}|\d[eE]\+?\d{3}/;
/** How `String` and `JSON.stringify` write a number of such a text; a number that is too large is null. */
const WRITTEN = /(?<![\w".])(?:\d[\d.]{15}|null\b)|\de\+\d/;

/** Whether a text that was made of values may hold a number that is not written as it came. */
export function mayBeRounded(text: string): boolean {
  return WRITTEN.test(text);
}

/** The JSON value with an `ExactNumber` for each number that may be rounded; undefined if it has none. */
export function findExact(json: string): unknown {
  if (!LONG_NUMBER.test(json)) return undefined;
  let isExact = false;
  const value: unknown = JSON.parse(json, (_key, number: unknown, context?: { source?: string }) => {
    const text = context?.source;
    if (typeof number !== "number" || text === undefined || !isLong(number, text)) return number;
    isExact = true;
    return new ExactNumber(text);
  });
  return isExact ? value : undefined;
}

/** `JSON.parse` with an `ExactNumber` for each number that may be rounded. */
export function parseExact(json: string): unknown {
  return findExact(json) ?? JSON.parse(json);
}

/** Reads a payload again, as of `findExact`. */
export type ReadExact = () => unknown;

/** How to read this JSON again; undefined if it has no number that may be rounded. Then the text need not be kept. */
export function toReadExact(json: string, read: (json: string) => unknown = findExact): ReadExact | undefined {
  return LONG_NUMBER.test(json) ? () => read(json) : undefined;
}

/** A payload with the body that it was parsed from. */
interface ParsedRequest {
  payload: unknown;
  /** The payload is `JSON.parse` of the body. */
  payloadIsBody: boolean;
  /** Set if it is JSON inside of the body. */
  readExact?: ReadExact;
  rawBody: Buffer;
}

/** A body is read again at most once, and only for a long number that is written. */
const exactPayloads = new WeakMap<Buffer, { payload: unknown }>();

/** The payload as of `findExact`. */
export function findExactPayload({ payloadIsBody, readExact, rawBody }: ParsedRequest): unknown {
  if (!payloadIsBody && !readExact) return undefined;
  const known = exactPayloads.get(rawBody);
  if (known) return known.payload;
  const payload = readExact ? readExact() : findExact(rawBody.toString());
  exactPayloads.set(rawBody, { payload });
  return payload;
}

/** The payload as it is written: as JSON, or for a person. */
export function exactPayload(request: ParsedRequest): unknown {
  return findExactPayload(request) ?? request.payload;
}

/** A JSON object as of `parseExact`. An empty object for any other text. */
export function parseExactObject(json: string): Record<string, unknown> {
  try {
    return toObject(parseExact(json));
  } catch {
    return {};
  }
}

/**
 * `JSON.parse`; the value at the path is that of `parseExact`, everything else has plain numbers. The caller knows its
 * type, as with `JSON.parse`.
 */
export function parseExactAt(json: string, path: Path): ReturnType<typeof JSON.parse> {
  const value: unknown = JSON.parse(json);
  const exact = readPath(findExact(json), path);
  return exact === undefined ? value : replaceAt(value, path, exact);
}

/** Not finite, or 16 digits or more, zeros in front not counted. */
function isLong(number: number, text: string): boolean {
  const [mantissa = ""] = text.split(/e/i, 1);
  return !Number.isFinite(number) || mantissa.replace(/^[-0.]+|\./g, "").length >= 16;
}
