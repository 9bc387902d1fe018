import type { IncomingMessage } from "node:http";
import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate as inflateZlib, inflateRaw } from "node:zlib";
import { HookError } from "../errors.ts";

/**
 * Reads the body as it comes over the wire. Undefined: the client went away before it was whole. The rest of a body that
 * is refused stays unread.
 */
export function readBody(
  req: IncomingMessage,
  limits: { maxBytes: number; timeoutMs: number },
): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const timer = setTimeout(() => settle(tooSlow()), limits.timeoutMs);

    function onData(chunk: Buffer): void {
      chunks.push(chunk);
      size += chunk.length;
      if (size > limits.maxBytes) settle(bodyTooLarge(limits.maxBytes));
    }
    function onEnd(): void {
      settle(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, size));
    }
    function onClose(): void {
      settle(undefined);
    }
    function settle(outcome: Buffer | HookError | undefined): void {
      clearTimeout(timer);
      req.off("data", onData).off("end", onEnd).off("close", onClose);
      if (!(outcome instanceof HookError)) return resolve(outcome);
      req.pause();
      reject(outcome);
    }

    req.on("data", onData).on("end", onEnd).on("close", onClose);
  });
}

/** The rest of the body is not worth reading: the connection closes behind the answer. */
export function bodyTooLarge(maxBytes: number): HookError {
  return new HookError("body_too_large", {
    message: `The body is over the limit of ${maxBytes} bytes.`,
    headers: { Connection: "close" },
  });
}

function tooSlow(): HookError {
  return new HookError("request_timeout", {
    message: "The body did not arrive in time.",
    headers: { Connection: "close" },
  });
}

const CODINGS = ["gzip", "x-gzip", "deflate", "br"] as const;
type Coding = (typeof CODINGS)[number];

/** More layers than any sender has a reason for. */
const MAX_LAYERS = 3;

const DECODERS = {
  gzip: promisify(gunzip),
  "x-gzip": promisify(gunzip),
  deflate: promisify(inflateZlib),
  rawDeflate: promisify(inflateRaw),
  br: promisify(brotliDecompress),
};

/** Reads `Content-Encoding` (`gzip, br`: in the order they were applied); throws 415 for what cannot be undone here. */
export function parseCodings(contentEncoding: string): Coding[] {
  const names = contentEncoding
    .toLowerCase()
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "" && name !== "identity");
  if (names.length > MAX_LAYERS || !names.every(isCoding)) throw new HookError("unsupported_encoding");
  return names;
}

/** Undoes the codings, last one first. No layer may grow over `maxBytes`: a small bomb stays small. */
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

/** Some senders leave out the zlib header that `deflate` calls for (RFC 1950, 2.2). */
function hasZlibHeader(body: Buffer): boolean {
  return body.length >= 2 && (body.readUInt8(0) & 0x0f) === 8 && body.readUInt16BE(0) % 31 === 0;
}

function isCoding(name: string): name is Coding {
  return (CODINGS as readonly string[]).includes(name);
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE";
}
