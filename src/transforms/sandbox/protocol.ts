import { closeSync, ftruncateSync, openSync, readSync, unlinkSync, writeSync } from "node:fs";
import path from "node:path";

// The pipe between the supervisor and a child. A frame carries several messages, because waking the other side costs more
// than a message: three u32 lengths (little endian), then the heads (small JSON, read on both sides), the texts of all
// messages (passed on unread) and their bodies (raw bytes).

/** The name of a bundle in stacks. The supervisor maps positions in it back to the author's files. */
export const BUNDLE_FILE = "hookline:transform";

/** Everything that an isolate is made from, except for the code. */
export interface ModuleOptions {
  module: string;
  memoryMb: number;
  strict: boolean;
  /** Named export to call; absent: `default`, else `transform`. */
  export?: string;
}

/** Supervisor to child. */
export type Order =
  /** text: the realm's code. Always the first message. */
  | { kind: "realm" }
  /** text: the bundle's code. */
  | ({ kind: "load" } & ModuleOptions)
  | { kind: "unload"; module: string }
  /** The job is no longer wanted: unless it has started, it is answered at once, in its turn. */
  | { kind: "cancel"; job: number }
  | { kind: "check"; job: number; module: string; timeoutMs: number }
  /** text: the input as JSON, body: the request's bytes. */
  | { kind: "call"; job: number; module: string; timeoutMs: number };

/** Child to supervisor. */
export type Report =
  | { kind: "ready" }
  /** text: an `Answer` as JSON, as the isolate wrote it; `micros`: how long the job ran. */
  | { kind: "answer"; job: number; micros: number };

/** A child sends its reports when their texts have this length together, in UTF-16 code units. */
export const BATCH_LENGTH = 64 * 1024;

export interface Message<Head> {
  head: Head;
  text: string;
  body: Buffer;
}

export const NO_BODY = Buffer.alloc(0);

/** A message's head, and the lengths of its text (UTF-16 code units) and its body (bytes). */
type Entry<Head> = [head: Head, textLength: number, bodyBytes: number];

const PREFIX_BYTES = 12;

/** Gives one buffer, so that it takes one write. */
export function encodeFrame(messages: Message<Order | Report>[]): Buffer {
  const entries = messages.map(({ head, text, body }): Entry<unknown> => [head, text.length, body.length]);
  const heads = Buffer.from(JSON.stringify(entries));
  const texts = Buffer.from(messages.map((message) => message.text).join(""));
  const bodies = messages.map((message) => message.body);
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32LE(heads.length, 0);
  prefix.writeUInt32LE(texts.length, 4);
  prefix.writeUInt32LE(
    bodies.reduce((sum, body) => sum + body.length, 0),
    8,
  );
  return Buffer.concat([prefix, heads, texts, ...bodies]);
}

/**
 * Gives a function that takes chunks and calls `onMessage` for each message of each complete frame. It throws if a frame
 * exceeds `maxBytes` or its heads are invalid; the other side must not be trusted after that.
 */
export function createFrameReader<Head>(
  onMessage: (message: Message<Head>) => void,
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
      if (size > maxBytes) throw new RangeError(`A frame of ${size} bytes exceeds the limit of ${maxBytes}.`);
      needed = size;
      if (available < size) return;
      readMessages<Head>(buffer).forEach(onMessage);
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

function readMessages<Head>(buffer: Buffer): Message<Head>[] {
  const textsStart = PREFIX_BYTES + buffer.readUInt32LE(0);
  const bodiesStart = textsStart + buffer.readUInt32LE(4);
  const texts = buffer.toString("utf8", textsStart, bodiesStart);
  const entries: Entry<Head>[] = JSON.parse(buffer.toString("utf8", PREFIX_BYTES, textsStart));
  let textStart = 0;
  let bodyStart = bodiesStart;
  return entries.map(([head, textLength, bodyBytes]) => ({
    head,
    text: texts.slice(textStart, (textStart += textLength)),
    body: buffer.subarray(bodyStart, (bodyStart += bodyBytes)),
  }));
}

/** The file descriptor that a child gets beside its three pipes. */
const PROGRESS_FD = 3;
export const PROGRESS_BYTES = 4;

/**
 * Four bytes in an unnamed file that both sides have open: the job that the child runs while it has unsent answers. A
 * stuck child cannot send anything, and no other job must be blamed for it.
 */
export interface Progress {
  /** For the child. */
  fd: number;
  /** The job noted last, 0 if none. Code that broke out of an isolate could have written it. */
  read(): number;
  close(): void;
}

export function createProgress(folder: string): Progress {
  const name = path.join(folder, "progress");
  const fd = openSync(name, "w+");
  unlinkSync(name);
  ftruncateSync(fd, PROGRESS_BYTES);
  const bytes = Buffer.alloc(PROGRESS_BYTES);
  return {
    fd,
    read() {
      readSync(fd, bytes, 0, PROGRESS_BYTES, 0);
      return bytes.readUInt32LE(0);
    },
    close: () => closeSync(fd),
  };
}

const note = Buffer.alloc(PROGRESS_BYTES);

/** Called by the child. */
export function noteProgress(job: number): void {
  note.writeUInt32LE(job, 0);
  writeSync(PROGRESS_FD, note, 0, PROGRESS_BYTES, 0);
}
