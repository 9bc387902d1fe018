/**
 * The pipe between the supervisor and a child. A frame is three u32 lengths (little endian), then as many bytes of
 * each: a head (small JSON, read on both sides), a text (passed on unread) and a body (raw bytes).
 */

/** The name of a bundle in stacks: what a child reports, the supervisor maps back to the author's files by it. */
export const BUNDLE_FILE = "hookline:transform";

/** How a module is to be kept: everything an isolate is made from, but for the code, which is the frame's text. */
export interface ModuleHead {
  module: string;
  memoryMb: number;
  strict: boolean;
  /** Named export to call; absent: `default`, else `transform`. */
  export?: string;
}

/** Supervisor to child. */
export type Order =
  /** text: the realm's code. Always the first frame. */
  | { kind: "realm" }
  /** text: the bundle's code. */
  | ({ kind: "load" } & ModuleHead)
  | { kind: "unload"; module: string }
  /** The job is no longer wanted: unless it has begun, it is answered at once, in its turn. */
  | { kind: "cancel"; job: number }
  | { kind: "check"; job: number; module: string; timeoutMs: number }
  /** text: the input as JSON, body: the request's bytes. */
  | { kind: "call"; job: number; module: string; timeoutMs: number };

/** Child to supervisor. */
export type Report =
  | { kind: "ready" }
  /** text: an `Answer` as JSON, as the isolate wrote it. */
  | { kind: "answer"; job: number };

export interface Frame<Head> {
  head: Head;
  text: string;
  body: Buffer;
}

const PREFIX_BYTES = 12;

const NO_BODY = Buffer.alloc(0);

/** One buffer, so that it takes one write. */
export function encodeFrame(head: Order | Report, text = "", body: Buffer = NO_BODY): Buffer {
  const headText = JSON.stringify(head);
  const headLength = Buffer.byteLength(headText);
  const textLength = Buffer.byteLength(text);
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + headLength + textLength + body.length);
  frame.writeUInt32LE(headLength, 0);
  frame.writeUInt32LE(textLength, 4);
  frame.writeUInt32LE(body.length, 8);
  frame.write(headText, PREFIX_BYTES);
  frame.write(text, PREFIX_BYTES + headLength);
  body.copy(frame, PREFIX_BYTES + headLength + textLength);
  return frame;
}

/**
 * Gives a function that takes chunks as they come and calls `onFrame` for each whole frame.
 * That function throws where a frame is over `maxBytes` or its head is no JSON: the other side is not to be trusted further.
 */
export function createFrameReader<Head>(
  onFrame: (frame: Frame<Head>) => void,
  maxBytes = 0xffff_ffff,
): (chunk: Buffer) => void {
  let chunks: Buffer[] = [];
  let available = 0;
  let needed = PREFIX_BYTES;

  return function push(chunk) {
    chunks.push(chunk);
    available += chunk.length;
    while (available >= needed) {
      let buffer = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, available);
      chunks = [buffer];
      const size = frameBytes(buffer);
      if (size > maxBytes) throw new RangeError(`A frame of ${size} bytes is over the limit of ${maxBytes}.`);
      needed = size;
      if (available < size) return;
      onFrame(readFrame(buffer));
      buffer = buffer.subarray(size);
      chunks = buffer.length === 0 ? [] : [buffer];
      available = buffer.length;
      needed = PREFIX_BYTES;
    }
  };
}

function frameBytes(buffer: Buffer): number {
  return PREFIX_BYTES + buffer.readUInt32LE(0) + buffer.readUInt32LE(4) + buffer.readUInt32LE(8);
}

function readFrame<Head>(buffer: Buffer): Frame<Head> {
  const textStart = PREFIX_BYTES + buffer.readUInt32LE(0);
  const bodyStart = textStart + buffer.readUInt32LE(4);
  const bodyEnd = bodyStart + buffer.readUInt32LE(8);
  return {
    head: JSON.parse(buffer.toString("utf8", PREFIX_BYTES, textStart)),
    text: buffer.toString("utf8", textStart, bodyStart),
    body: buffer.subarray(bodyStart, bodyEnd),
  };
}
