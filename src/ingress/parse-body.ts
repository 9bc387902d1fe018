import { isUtf8 } from "node:buffer";
import { MIMEType } from "node:util";
import { HookError } from "../errors.ts";

export interface ParsedBody {
  payload: unknown;
  /** True where `payload` is `JSON.parse` of just these bytes. */
  payloadIsBody: boolean;
}

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** Gives the body its meaning. Throws 400 for what is broken, 415 for text that holds no JSON. */
export function parseBody(kind: BodyKind, body: Buffer): ParsedBody {
  if (!isUtf8(body)) throw new HookError("invalid_utf8");
  const hasMark = body.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
  const text = body.toString("utf8", hasMark ? BYTE_ORDER_MARK.length : 0);
  if (kind === "form") return { payload: toFormPayload(parseForm(text)), payloadIsBody: false };
  return { payload: kind === "text" ? parseText(text) : parseJson(text), payloadIsBody: !hasMark };
}

/** Some providers send JSON as a form with one field `payload`. */
function toFormPayload(fields: Record<string, string | string[]>): unknown {
  const { payload } = fields;
  return typeof payload === "string" && /^\s*[[{]/.test(payload) ? parseJson(payload) : fields;
}

/** Text that is not even meant as JSON is a type that hooks do not take. */
function parseText(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    if (text.trim() === "" || /^\s*["[{]/.test(text)) throw error;
    throw new HookError("unsupported_media_type", { message: "The body is text but not JSON.", cause: error });
  }
}

/** Parses `a=1&b=2`. A repeated field becomes an array. Throws 400 for percent-encoding that gives no UTF-8. */
function parseForm(text: string): Record<string, string | string[]> {
  const fields = new Map<string, string | string[]>();
  for (const pair of text.split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = decode(equals === -1 ? pair : pair.slice(0, equals));
    add(fields, name, equals === -1 ? "" : decode(pair.slice(equals + 1)));
  }
  // fromEntries defines own properties: a field named __proto__ stays a field.
  return Object.fromEntries(fields);
}

function add(fields: Map<string, string | string[]>, name: string, value: string): void {
  const known = fields.get(name);
  if (known === undefined) fields.set(name, value);
  else if (typeof known === "string") fields.set(name, [known, value]);
  else known.push(value);
}

function decode(encoded: string): string {
  const spaced = encoded.replaceAll("+", " ");
  if (!spaced.includes("%")) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    throw new HookError("invalid_form");
  }
}

/** Far over what any sender writes, far under what makes recursive code run out of stack. */
const MAX_DEPTH = 1000;

/** Parses any JSON value; throws a 400 that says nothing of what it holds. */
function parseJson(text: string): unknown {
  if (text.trim() === "") throw invalid("The body is empty: JSON was expected.");
  if (isTooDeep(text)) throw invalid(`The body nests deeper than ${MAX_DEPTH} levels.`);
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the body, so it is not even kept as the cause.
    throw invalid("The body is not valid JSON.");
  }
}

/** Counts brackets outside strings. A text shorter than so many pairs of them needs no counting. */
function isTooDeep(text: string): boolean {
  if (text.length <= 2 * MAX_DEPTH) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '"') at = endOfString(text, at);
    else if (char === "[" || char === "{") depth++;
    else if (char === "]" || char === "}") depth--;
    if (depth > MAX_DEPTH) return true;
  }
  return false;
}

/** Place of the quote that ends the string begun at `start`; the text's length where none does. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const char = text[at];
    if (char === "\\") at++;
    else if (char === '"') return at;
  }
  return text.length;
}

function invalid(message: string): HookError {
  return new HookError("invalid_json", { message });
}

/** How the body is written down. */
export type BodyKind = "json" | "form" | "text";

const CHARSETS = new Set(["utf-8", "utf8", "us-ascii", "ascii"]);

/** Reads a content type; throws 415 for one that hooks do not take. An absent one counts as JSON. */
export function requireBodyKind(contentType: string): BodyKind {
  // What most senders write, without the cost of parsing it.
  if (contentType === "" || contentType === "application/json") return "json";
  const type = parseType(contentType);
  const kind = type && toKind(type);
  if (!kind) throw unsupported("Send JSON, a form, or text that holds JSON.");
  const charset = type.params.get("charset");
  if (charset !== null && !CHARSETS.has(charset.toLowerCase())) throw unsupported("Send the body in UTF-8.");
  return kind;
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
