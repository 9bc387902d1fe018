import { isUtf8 } from "node:buffer";
import { MIMEType } from "node:util";
import { HookError } from "../errors.ts";

export type BodyKind = "json" | "form" | "text";

export interface ParsedBody {
  payload: unknown;
  /** True when `payload` is `JSON.parse` of exactly these bytes. */
  payloadIsBody: boolean;
  /** Sentences for the caller. */
  warnings?: string[];
}

/** Far above any real payload, far below the depth at which recursive code overflows the stack. */
const MAX_DEPTH = 1000;
const CHARSETS = new Set(["utf-8", "utf8", "us-ascii", "ascii"]);
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

const JSON_AS_FORM = "The body is JSON, but its content type is that of a form: send Content-Type: application/json.";

/** Reads a content type. An absent one counts as JSON. Throws a 415 for a type that hooks do not accept. */
export function requireBodyKind(contentType: string): BodyKind {
  // Most senders write this, so it is not parsed.
  if (contentType === "" || contentType === "application/json") return "json";
  const type = parseType(contentType);
  const kind = type && toKind(type);
  if (!kind) throw unsupported("Send JSON, a form, or text that holds JSON.");
  const charset = type.params.get("charset");
  if (charset !== null && !CHARSETS.has(charset.toLowerCase())) throw unsupported("Send the body in UTF-8.");
  return kind;
}

/** Parses a body. Throws a 400 when it is malformed, a 415 when it is text but not JSON. */
export function parseBody(kind: BodyKind, body: Buffer): ParsedBody {
  if (!isUtf8(body)) throw new HookError("invalid_utf8");
  const hasMark = body.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
  const text = body.toString("utf8", hasMark ? BYTE_ORDER_MARK.length : 0);
  if (kind === "form") {
    const payload = parseJsonInForm(text);
    if (payload) return { payload, payloadIsBody: !hasMark, warnings: [JSON_AS_FORM] };
    return { payload: toFormPayload(parseForm(text)), payloadIsBody: false };
  }
  return { payload: kind === "text" ? parseText(text) : parseJson(text), payloadIsBody: !hasMark };
}

/** `curl -d '{…}'` declares a form. Gives its object or array; undefined for a real form. */
function parseJsonInForm(text: string): object | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  return Object(parseJson(text));
}

/** Some providers send JSON as a form with one field `payload`. */
function toFormPayload(fields: Record<string, unknown>): unknown {
  const { payload } = fields;
  return typeof payload === "string" && /^\s*[[{]/.test(payload) ? parseJson(payload) : fields;
}

/** A repeated field becomes an array. */
function parseForm(text: string): Record<string, unknown> {
  try {
    // `URLSearchParams` would silently replace invalid percent-encoding.
    decodeURIComponent(text);
  } catch {
    throw new HookError("invalid_form");
  }
  const groups = Map.groupBy(new URLSearchParams(text), ([name]) => name);
  // fromEntries defines own properties, so a field named __proto__ stays a field.
  return Object.fromEntries(
    Array.from(groups, ([name, pairs]) => {
      const values = pairs.map(([, value]) => value);
      return [name, values.length === 1 ? values[0] : values];
    }),
  );
}

function parseText(text: string): unknown {
  // Text that was not meant as JSON has an unsupported type, rather than a syntax error.
  if (text.trim() === "" || /^\s*["[{]/.test(text)) return parseJson(text);
  try {
    return parseJson(text);
  } catch (cause) {
    throw new HookError("unsupported_media_type", { message: "The body is text but not JSON.", cause });
  }
}

/** Parses any JSON value. Throws a 400 that reveals nothing of the text. */
function parseJson(text: string): unknown {
  if (text.trim() === "") throw new HookError("invalid_json", { message: "The body is empty, but must be JSON." });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's message quotes the body, so it is not even kept as the cause.
    throw new HookError("invalid_json");
  }
  // A short text cannot hold that many brackets.
  if (text.length > 2 * MAX_DEPTH && isDeeper(value, MAX_DEPTH)) {
    throw new HookError("invalid_json", { message: `The body nests deeper than ${MAX_DEPTH} levels.` });
  }
  return value;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((child) => isDeeper(child, levels - 1));
}

function parseType(contentType: string): MIMEType | undefined {
  try {
    return new MIMEType(contentType);
  } catch {
    return undefined;
  }
}

function toKind({ type, subtype, essence }: MIMEType): BodyKind | undefined {
  if (essence === "application/json" || subtype.endsWith("+json")) return "json";
  if (essence === "application/x-www-form-urlencoded") return "form";
  return type === "text" ? "text" : undefined;
}

function unsupported(nextStep: string): HookError {
  return new HookError("unsupported_media_type", { message: `This content type is not supported. ${nextStep}` });
}
