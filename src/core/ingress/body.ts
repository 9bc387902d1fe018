import { isUtf8 } from "node:buffer";
import type { IncomingHttpHeaders } from "node:http";
import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate as inflateZlib, inflateRaw } from "node:zlib";
import { bodyTooLarge, codeOf, HookError, type HookErrorCode } from "../errors.ts";
import { type Exchange, http } from "./exchange.ts";
import type { Upload } from "./overload.ts";

export interface BodyLimits {
  /** Counted before and after decompression. */
  maxBytes: number;
  timeoutMs: number;
}

/** The rest of the body is not read, so the connection closes after the answer. */
const CLOSE = { Connection: "close" };

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

/** Reads the body as it comes, not decompressed; later calls give the same bytes. Throws the 4xx of a body that is refused, or `ClientGone`. */
export function receiveBody(exchange: Exchange, limits: BodyLimits, upload?: Upload): Promise<Buffer> {
  return (exchange.received ??= receive(exchange, limits, upload));
}

/** Reads the body of a request that is refused, decompressed. Empty if it cannot be read within the limits. */
export async function receiveRefused(exchange: Exchange, limits: BodyLimits, upload: Upload): Promise<Buffer> {
  try {
    const body = await receiveBody(exchange, limits, upload);
    return body.length > limits.maxBytes
      ? NO_BODY
      : await inflate(body, parseCodings(exchange.headers), limits.maxBytes);
  } catch {
    // The client is answered what it would have been answered anyway.
    return NO_BODY;
  }
}

export const NO_BODY = Buffer.alloc(0);

/** Refuses a body that is declared over the limit, before any of it is read. */
export function requireDeclaredSize({ headers }: Exchange, maxBytes: number): void {
  if (Number(headers["content-length"] ?? 0) > maxBytes) throw bodyTooLarge(maxBytes, CLOSE);
}

/** The client broke the connection before its body was complete, so nobody is there to answer. */
export class ClientGone extends Error {
  override name = "ClientGone";
}

/** The rest of a body that is refused stays unread. */
function receive(exchange: Exchange, { maxBytes, timeoutMs }: BodyLimits, upload?: Upload): Promise<Buffer> {
  requireDeclaredSize(exchange, maxBytes);
  exchange.sendContinue();
  const { body } = exchange;
  if (body.destroyed) return Promise.reject(new ClientGone("the connection was closed", { cause: body.errored }));
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let isOver = false;
    const deadline = setTimeout(onTimeout, timeoutMs).unref();

    function onData(chunk: Buffer): void {
      chunks.push(chunk);
      size += chunk.length;
      if (size > maxBytes) fail(bodyTooLarge(maxBytes, CLOSE));
      else upload?.add(chunk.length);
    }
    function onEnd(): void {
      stop();
      if (chunks.length === 1 && chunks[0]) return resolve(chunks[0]);
      resolve(Buffer.concat(chunks, size));
      // In process, the chunks may still be the caller's.
      if (body instanceof http.IncomingMessage) chunks.forEach(free);
    }
    function onError(cause: Error): void {
      fail(new ClientGone("the body broke off", { cause }));
    }
    function onTimeout(): void {
      const message = "The body did not arrive in time.";
      fail(new HookError("request_timeout", { message, headers: { Connection: "close" } }));
    }
    function onClose(): void {
      if (!isOver) fail(new ClientGone("the connection was closed"));
    }
    function onRefused(): void {
      chunks.length = 0;
      fail(new HookError("overloaded", { headers: { Connection: "close" } }));
    }
    function fail(error: Error): void {
      stop();
      body.off("data", onData).off("end", onEnd).pause();
      reject(error);
    }
    function stop(): void {
      clearTimeout(deadline);
      if (upload) upload.reader = undefined;
      isOver = true;
    }

    if (upload) upload.reader = { refuse: onRefused, pause: () => body.pause(), resume: () => body.resume() };
    // Listeners stay where they do no harm: to remove them would cost as much as to add them.
    body.on("data", onData).on("end", onEnd).on("error", onError).on("close", onClose);
  });
}

/** Gives the memory back at once: under a flood of bodies, the garbage collector would have too much to do. */
function free({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}

/** Reads `Content-Encoding` (`gzip, br`: in the order they were applied). Throws a 415 for an unknown one. */
export function parseCodings({ "content-encoding": contentEncoding = "" }: IncomingHttpHeaders): Coding[] {
  if (contentEncoding === "") return [];
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
    if (codeOf(error) === "ERR_BUFFER_TOO_LARGE") throw bodyTooLarge(maxBytes, CLOSE);
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

/** The 415 of a content type. */
export function unsupported(nextStep: string): HookError {
  return new HookError("unsupported_media_type", { message: `This content type is not supported. ${nextStep}` });
}
