import { isUtf8 } from "node:buffer";
import { HookError, type HookErrorCode } from "../errors.ts";
import { isObject } from "../shared/json.ts";

/** Far above any real payload, far below the depth at which recursive code overflows the stack. */
export const MAX_DEPTH = 1000;

const MARK_LENGTH = 3;

/** Whether the bytes begin with the byte order mark of UTF-8. */
export function hasMark(body: Buffer): boolean {
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf;
}

/** Decodes UTF-8 without its byte order mark. Throws a 400 if the bytes are not UTF-8. */
export function decodeUtf8(body: Buffer): string {
  if (!isUtf8(body)) throw new HookError("invalid_utf8");
  return body.toString("utf8", hasMark(body) ? MARK_LENGTH : 0);
}

/**
 * A function that decodes text by the label of its charset (`koi8-r`); default: UTF-8. Throws a 415 for an unknown label; the
 * function throws a 400 with `code` for bytes that are not in the charset.
 */
export function createDecode(charset: string | null | undefined, code: HookErrorCode): (bytes: Buffer) => string {
  const decoder = requireDecoder(charset ?? "utf-8");
  return function decode(bytes) {
    try {
      return decoder.decode(bytes);
    } catch {
      throw new HookError(code, { message: `The body is not valid ${decoder.encoding}.` });
    }
  };
}

function requireDecoder(charset: string): InstanceType<typeof TextDecoder> {
  try {
    return new TextDecoder(charset, { fatal: true });
  } catch {
    throw unsupported("Send the body in UTF-8.");
  }
}

/** Parses any JSON value. Throws a 400 that reveals nothing of the text. */
export function parseJson(text: string): unknown {
  if (text.trim() === "") throw new HookError("invalid_json", { message: "The body is empty, but must be JSON." });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's message quotes the body, so it is not even kept as the cause.
    throw new HookError("invalid_json");
  }
  // A short text cannot hold that many brackets.
  if (text.length > 2 * MAX_DEPTH && isNested(value) && isDeeper(value, MAX_DEPTH)) {
    throw new HookError("invalid_json", { message: `The body nests deeper than ${MAX_DEPTH} levels.` });
  }
  return value;
}

/** The text is probably meant as a JSON object or array. */
export function looksLikeJson(text: string): boolean {
  return /^\s*[[{]/.test(text);
}

/** The 415 of a content type. */
export function unsupported(nextStep: string): HookError {
  return new HookError("unsupported_media_type", { message: `This content type is not supported. ${nextStep}` });
}

/** By loops, because a list of the values of each object and a function for each would take four times as long. */
function isDeeper(value: object, levels: number): boolean {
  if (levels === 0) return true;
  if (Array.isArray(value)) {
    for (const item of value) if (isNested(item) && isDeeper(item, levels - 1)) return true;
  } else if (isObject(value)) {
    for (const name in value) {
      const field = value[name];
      if (isNested(field) && isDeeper(field, levels - 1)) return true;
    }
  }
  return false;
}

function isNested(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
