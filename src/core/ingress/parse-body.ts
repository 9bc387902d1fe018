import { isUtf8 } from "node:buffer";
import { MIMEType } from "node:util";
import { HookError } from "../errors.ts";
import { parseExact, type ReadExact, toReadExact } from "../shared/exact-json.ts";
import { BUILT_IN_HOOKS } from "../types.ts";
import { parseForm, parseMultipart } from "./parse-form.ts";
import { createDecode, decodeUtf8, hasMark, unsupported } from "./body.ts";
import { mayBeTooDeep, parseJson } from "./parse-json.ts";

export interface ParsedBody {
  payload: unknown;
  /** True when `payload` is `JSON.parse` of exactly these bytes, or would be: then it is undefined. */
  payloadIsBody: boolean;
  /** Set if the payload is JSON inside of the body, and has numbers that JavaScript may round. */
  readExact?: ReadExact;
  /** Sentences for the caller. */
  warnings?: string[];
}

/**
 * Parses a body. Throws a 400 when it is malformed, a 413 when it has too many parts, a 415 when it is text but not JSON or
 * its charset is unknown. `receivedAt`: of the request, in milliseconds since the epoch.
 */
export type ParseBody = (body: Buffer, receivedAt: number) => ParsedBody | Promise<ParsedBody>;

/** Finds the parser of a content type. An absent one counts as JSON. Throws a 415 for a type that the hook does not accept. */
export type FindParser = (contentType: string, hook?: string) => ParseBody;

export interface ParserOptions {
  /** Reads a mail (RFC 5322) as the payload of the mail hook. */
  readMail(source: Buffer, receivedAt: number): Promise<unknown>;
  /** Whether the hook's mappings say `body: "text"`. Default: none does. */
  takesText?(hook: string): boolean;
}

const JSON_AS_FORM = "The body is JSON, but its content type is that of a form: send Content-Type: application/json.";
const NEXT_STEP = "Send JSON, a form, XML, a mail, or text that holds JSON.";

/** One event for each line, in any of the names that this format has. */
const JSON_LINES = /^(?:x-)?(?:ndjson|jsonl|jsonlines|json-lines|ldjson)$|^json-seq$/;
/** With `body: "text"`, their lines are JSON. */
const TEXT_LINES = new Set(["application/x-ndjson", "application/jsonl"]);
const SEND_AN_ARRAY =
  'Send one JSON value for each request, or all of them as one JSON array: a mapping\'s forEach makes an action of each item. Or set body: "text" in the mapping.';

export function createParsers({ readMail, takesText = () => false }: ParserOptions): FindParser {
  return function findParser(contentType, hook) {
    // Most senders write this, so it is not parsed.
    if (contentType === "" || contentType === "application/json") return parseJsonBody;
    const type = parseType(contentType);
    if (!type) throw unsupported(NEXT_STEP);
    const { essence, subtype, params } = type;
    const charset = params.get("charset");
    const isText = type.type === "text" && subtype !== "json";
    if (hook !== undefined && (isText || TEXT_LINES.has(essence)) && takesText(hook)) {
      const decode = createDecode(charset, "invalid_utf8");
      return (body) => (isText ? toParsed({ text: decode(body) }) : parseLines(decode(body)));
    }
    if (essence === "application/x-www-form-urlencoded") return (body) => parseFormBody(body, charset);
    if (essence === "multipart/form-data")
      return async (body) => ({ ...(await parseMultipart(body, params.get("boundary"))), payloadIsBody: false });
    const isXml = subtype === "xml" || subtype.endsWith("+xml");
    if ((isXml || essence === "message/rfc822") && BUILT_IN_HOOKS.some((name) => name === hook)) {
      throw unsupported("Send JSON, a form, or text that holds JSON: this hook has fixed fields.");
    }
    if (essence === "message/rfc822") return async (body, receivedAt) => toParsed(await readMail(body, receivedAt));
    if (isXml) return (body) => parseXmlBody(body, charset);
    if (JSON_LINES.test(subtype)) throw unsupported(SEND_AN_ARRAY);
    if (!isJsonType(type) && type.type !== "text") throw unsupported(NEXT_STEP);
    if (charset !== null && !/^(?:utf-?8|(?:us-)?ascii)$/i.test(charset))
      throw unsupported(`Send the body in UTF-8${isText ? ", or with its own type: XML as application/xml" : ""}.`);
    return isJsonType(type) ? parseJsonBody : parseTextBody;
  };
}

function parseLines(text: string): ParsedBody {
  const readExact = toReadExact(text, () => ({ lines: readLines(text, parseExact) }));
  return toParsed({ lines: readLines(text, parseJson) }, readExact);
}

/** The JSON values of the lines that are not blank. */
function readLines(text: string, parse: (line: string) => unknown): unknown[] {
  return text.split("\n").flatMap((line, index) => {
    if (line.trim() === "") return [];
    try {
      return [parse(line)];
    } catch (cause) {
      throw new HookError("invalid_json", { message: `Line ${index + 1} of the body is not valid JSON.`, cause });
    }
  });
}

/** Whether a content type is absent or that of JSON. */
export function isJson(contentType: string): boolean {
  const type = parseType(contentType);
  return contentType === "" || (type !== undefined && isJsonType(type));
}

/**
 * Leaves a JSON body to another process that parses it. A body that the process would take
 * and `parseJsonBody` might refuse is parsed now.
 */
export function passJsonBody(body: Buffer): ParsedBody {
  if (!isUtf8(body) || hasMark(body) || mayBeTooDeep(body)) return parseJsonBody(body);
  return { payload: undefined, payloadIsBody: true };
}

export function parseJsonBody(body: Buffer): ParsedBody {
  const text = decodeUtf8(body);
  const payload = parseJson(text);
  return hasMark(body) ? toParsed(payload, toReadExact(text)) : { payload, payloadIsBody: true };
}

function parseTextBody(body: Buffer): ParsedBody {
  try {
    return parseJsonBody(body);
  } catch (cause) {
    // Not every text is in UTF-8.
    const start = body
      .subarray(hasMark(body) ? 3 : 0, MAX_START)
      .toString("latin1")
      .trimStart();
    // Text that was not meant as JSON has an unsupported type, rather than a syntax error.
    if (start === "" || /^["[{]/.test(start)) throw cause;
    const message = start.startsWith("<")
      ? "The body looks like XML, but its content type is that of text: send Content-Type: application/xml."
      : "The body is text but not JSON. Send JSON, or name the body's own content type.";
    throw new HookError("unsupported_media_type", { message, cause });
  }
}

const MAX_START = 1000;

function parseFormBody(body: Buffer, charset: string | null): ParsedBody {
  // `curl -d '{…}'` declares a form.
  return isJsonObject(body)
    ? { ...parseJsonBody(body), warnings: [JSON_AS_FORM] }
    : { ...parseForm(body, charset), payloadIsBody: false };
}

// Few services get XML, so its library is loaded for the first one.
async function parseXmlBody(body: Buffer, charset: string | null): Promise<ParsedBody> {
  const { parseXml } = await import("./parse-xml.ts");
  return toParsed(parseXml(body, charset));
}

function toParsed(payload: unknown, readExact?: ReadExact): ParsedBody {
  return { payload, payloadIsBody: false, readExact };
}

/** Whether it is an object or an array. */
function isJsonObject(body: Buffer): boolean {
  try {
    const value: unknown = JSON.parse(decodeUtf8(body));
    return typeof value === "object" && value !== null;
  } catch {
    return false;
  }
}

function parseType(contentType: string): MIMEType | undefined {
  try {
    return new MIMEType(contentType);
  } catch {
    return undefined;
  }
}

function isJsonType({ essence, subtype }: MIMEType): boolean {
  return essence === "application/json" || subtype.endsWith("+json");
}
