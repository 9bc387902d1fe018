import { isUtf8 } from "node:buffer";
import { MIMEType, promisify } from "node:util";
import { brotliDecompress, gunzip, inflate as inflateZlib, inflateRaw } from "node:zlib";
import { HookError } from "../errors.ts";
import type { Exchange } from "./exchange.ts";

export interface BodyLimits {
  /** Counted before and after decompression. */
  maxBytes: number;
  timeoutMs: number;
}

export type BodyKind = "json" | "form" | "text";

export interface ParsedBody {
  payload: unknown;
  /** True when `payload` is `JSON.parse` of exactly these bytes. */
  payloadIsBody: boolean;
  /** Sentences for the caller. */
  warnings?: string[];
}

/** The limits of a JSON body that is sent to any route but a hook. */
const JSON_LIMITS: BodyLimits = { maxBytes: 1024 * 1024, timeoutMs: 30_000 };

/** Far above any real payload, far below the depth at which recursive code overflows the stack. */
const MAX_DEPTH = 1000;
const CHARSETS = new Set(["utf-8", "utf8", "us-ascii", "ascii"]);
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

const JSON_AS_FORM = "The body is JSON, but its content type is that of a form: send Content-Type: application/json.";

const CODINGS = ["gzip", "x-gzip", "deflate", "br"] as const;
type Coding = (typeof CODINGS)[number];

/** More than any sender has a reason for. */
const MAX_LAYERS = 3;

const DECODERS = {
  gzip: promisify(gunzip),
  "x-gzip": promisify(gunzip),
  deflate: promisify(inflateZlib),
  rawDeflate: promisify(inflateRaw),
  br: promisify(brotliDecompress),
};

/** Reads the body and decompresses it. Throws the 4xx of a body that is refused, or `ClientGone`. */
export async function readBody(exchange: Exchange, limits: BodyLimits): Promise<Buffer> {
  requireDeclaredSize(exchange, limits.maxBytes);
  const codings = parseCodings(exchange.headers["content-encoding"] ?? "");
  exchange.sendContinue();
  const body = await receiveBody(exchange, limits);
  return codings.length > 0 ? inflate(body, codings, limits.maxBytes) : body;
}

/** Reads and parses a JSON body; undefined when it is empty. */
export async function readJson(exchange: Exchange, maxBytes = JSON_LIMITS.maxBytes): Promise<unknown> {
  if (requireBodyKind(exchange.headers["content-type"] ?? "") !== "json") throw new HookError("unsupported_media_type");
  const body = await readBody(exchange, { ...JSON_LIMITS, maxBytes });
  return body.length === 0 ? undefined : parseBody("json", body).payload;
}

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

/** Refuses a body that is declared over the limit, before any of it is read. */
export function requireDeclaredSize({ headers }: Exchange, maxBytes: number): void {
  if (Number(headers["content-length"] ?? 0) > maxBytes) throw bodyTooLarge(maxBytes);
}

/** The client broke the connection before its body was complete, so nobody is there to answer. */
export class ClientGone extends Error {
  override name = "ClientGone";
}

/** The rest of a body that is refused stays unread. */
function receiveBody({ body }: Exchange, { maxBytes, timeoutMs }: BodyLimits): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const timer = setTimeout(onTimeout, timeoutMs);

    function onData(chunk: Buffer): void {
      chunks.push(chunk);
      size += chunk.length;
      if (size > maxBytes) fail(bodyTooLarge(maxBytes));
    }
    function onEnd(): void {
      stop();
      resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, size));
    }
    function onError(cause: Error): void {
      fail(new ClientGone("the body broke off", { cause }));
    }
    function onTimeout(): void {
      const message = "The body did not arrive in time.";
      fail(new HookError("request_timeout", { message, headers: { Connection: "close" } }));
    }
    function onClose(): void {
      fail(new ClientGone("the connection was closed"));
    }
    function fail(error: Error): void {
      stop();
      body.pause();
      reject(error);
    }
    function stop(): void {
      clearTimeout(timer);
      body.off("data", onData).off("end", onEnd).off("close", onClose);
    }

    // The error listener stays: an error after the answer concerns nobody.
    body.on("data", onData).on("end", onEnd).on("error", onError).on("close", onClose);
  });
}

/** The rest of the body is not read, so the connection closes after the answer. */
function bodyTooLarge(maxBytes: number): HookError {
  return new HookError("body_too_large", {
    message: `The body is over the limit of ${maxBytes} bytes.`,
    headers: { Connection: "close" },
  });
}

/** Reads `Content-Encoding` (`gzip, br`: in the order they were applied). Throws a 415 for an unknown one. */
export function parseCodings(contentEncoding: string): Coding[] {
  const names = contentEncoding
    .toLowerCase()
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "" && name !== "identity");
  if (names.length > MAX_LAYERS || !names.every(isCoding)) throw new HookError("unsupported_encoding");
  return names;
}

/** Decompresses, the last coding first. No layer may grow over `maxBytes`, so a decompression bomb stays small. */
export async function inflate(body: Buffer, codings: Coding[], maxBytes: number): Promise<Buffer> {
  let inflated = body;
  for (const coding of codings.toReversed()) inflated = await undo(coding, inflated, maxBytes);
  return inflated;
}

async function undo(coding: Coding, body: Buffer, maxBytes: number): Promise<Buffer> {
  const decode = DECODERS[coding === "deflate" && !hasZlibHeader(body) ? "rawDeflate" : coding];
  try {
    return await decode(body, { maxOutputLength: maxBytes });
  } catch (error) {
    if (isTooLarge(error)) throw bodyTooLarge(maxBytes);
    throw new HookError("invalid_encoding", { message: `The body is not valid ${coding}.`, cause: error });
  }
}

/** Some senders omit the zlib header that `deflate` requires (RFC 1950, 2.2). */
function hasZlibHeader(body: Buffer): boolean {
  return body.length >= 2 && (body.readUInt8(0) & 0x0f) === 8 && body.readUInt16BE(0) % 31 === 0;
}

function isCoding(name: string): name is Coding {
  return (CODINGS as readonly string[]).includes(name);
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE";
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
