import type { ChildProcessWithoutNullStreams } from "node:child_process";
import type { TransformSpec } from "../runner.ts";
import { type FailedAnswer, MAX_RESULT_LENGTH } from "./child-answer.ts";

// The pipe between the supervisor and a child. A frame carries several messages, because waking the other side costs more
// than a message: three u32 lengths (little endian), then the heads (small JSON, read on both sides), the texts of all
// messages (passed on unread) and their bodies (raw bytes).

/** The name of a bundle in stacks. The supervisor maps positions in it back to the author's files. */
export const BUNDLE_FILE = "hookline:transform";
/** The same for the code of its packages. */
export const PACKAGES_FILE = "hookline:packages";

/** The variable of a bundle's code that holds its packages. Their own code begins with its declaration. */
export const PACKAGES = "__hooklinePackages";

/** Everything that an isolate is made from, except for the code. */
export interface ModuleOptions extends Pick<TransformSpec, "memoryMb" | "export"> {
  module: string;
  strict: boolean;
  /** The id of its packages' code; absent: it has none. */
  packages?: string | undefined;
}

/** Supervisor to child. */
export type Order =
  /** text: the realm's code. Always the first message. */
  | { kind: "realm" }
  /** text: the code of packages. It comes before the modules that have them. */
  | { kind: "loadPackages"; packages: string }
  | { kind: "unloadPackages"; packages: string }
  /** text: the bundle's code. */
  | ({ kind: "load" } & ModuleOptions)
  | { kind: "unload"; module: string }
  /** The jobs are no longer wanted: those that have not started are answered at once, in their turn. */
  | { kind: "cancel"; jobs: number[] }
  /**
   * A check, or a batch of calls of one module, which have consecutive numbers, from `job` on. text: the inputs as a JSON
   * array; bodies: the bytes of each request.
   */
  | { kind: "check" | "call"; job: number; module: string; timeoutMs: number };

/** Child to supervisor. */
export type Report =
  | { kind: "ready" }
  /**
   * Answers the next `count` jobs, from `job` on. text: their `Answer`s as a JSON array, empty if they were canceled;
   * `micros`: how long they ran; for a check, how long its module was evaluated.
   */
  | { kind: "answers"; job: number; count: number; micros: number }
  /** The calls from `job` on cannot be made in a batch, so the child makes them one after the other. */
  | { kind: "split"; job: number };

/** A message to send, or as it was read: its bodies as bytes, then as text. */
export interface Message<Head, Body = Buffer> {
  head: Head;
  text: string;
  bodies: Body[];
}

export const NO_BODY = Buffer.alloc(0);

/** A message's head, the length of its text (UTF-16 code units), and those of its bodies (bytes). */
type Entry<Head> = [head: Head, textLength: number, ...bodyBytes: number[]];

const PREFIX_BYTES = 12;
/** Copying more than this costs more than a longer list of buffers to write. */
const MAX_COPIED_BYTES = 64 * 1024;

/** Gives one buffer if little is to be copied, so that it takes one write. */
export function encodeFrame(messages: Message<Order | Report>[]): Buffer[] {
  const entries = messages.map(({ head, text, bodies }): Entry<unknown> => [
    head,
    text.length,
    ...bodies.map((body) => body.length),
  ]);
  const heads = Buffer.from(JSON.stringify(entries));
  const texts = Buffer.from(messages.map((message) => message.text).join(""));
  const bodies = messages.flatMap((message) => message.bodies);
  const bodyBytes = bodies.reduce((sum, body) => sum + body.length, 0);
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32LE(heads.length, 0);
  prefix.writeUInt32LE(texts.length, 4);
  prefix.writeUInt32LE(bodyBytes, 8);
  if (bodyBytes <= MAX_COPIED_BYTES) return [Buffer.concat([prefix, heads, texts, ...bodies])];
  return [Buffer.concat([prefix, heads, texts]), ...bodies];
}

/** The most that is read at once. */
export const CHUNK_BYTES = 64 * 1024;
/** A buffer that grew beyond this for a large frame is replaced by a smaller one afterwards. */
const MAX_KEPT_BYTES = 1024 * 1024;

/**
 * Gives a function that takes chunks and calls `onMessage` for each message of each complete frame. Nothing refers to a
 * chunk afterwards. It throws if a frame exceeds `maxBytes` or its heads are invalid; the other side must not be trusted
 * after that.
 */
export function createFrameReader<Head>(
  onMessage: (message: Message<Head, string>) => void,
  maxBytes = 0xffff_ffff,
): (chunk: Buffer) => void {
  let input = Buffer.allocUnsafeSlow(2 * CHUNK_BYTES);
  let filled = 0;

  return function push(chunk) {
    const bytes = filled === 0 ? chunk : append(chunk);
    let start = 0;
    for (;;) {
      const size = findSize(bytes, start);
      if (bytes.length - start < size) return keep(bytes.subarray(start), size);
      readMessages<Head>(bytes.subarray(start, start + size)).forEach(onMessage);
      start += size;
    }
  };

  function append(chunk: Buffer): Buffer {
    reserve(filled + chunk.length);
    filled += chunk.copy(input, filled);
    return input.subarray(0, filled);
  }

  function keep(rest: Buffer, size: number): void {
    reserve(size);
    input.set(rest);
    filled = rest.length;
  }

  /** Room for a frame of this size and the rest of its last chunk. */
  function reserve(size: number): void {
    const wanted = size + CHUNK_BYTES;
    if (wanted <= input.length && (wanted > MAX_KEPT_BYTES || input.length <= MAX_KEPT_BYTES)) return;
    const next = Buffer.allocUnsafeSlow(wanted);
    input.copy(next, 0, 0, filled);
    input = next;
  }

  /** The size of the frame, or of its prefix until that has arrived. */
  function findSize(bytes: Buffer, start: number): number {
    if (bytes.length - start < PREFIX_BYTES) return PREFIX_BYTES;
    const size = frameBytes(bytes, start);
    if (size > maxBytes) throw new RangeError(`A frame of ${size} bytes exceeds the limit of ${maxBytes}.`);
    return size;
  }
}

function frameBytes(buffer: Buffer, at: number): number {
  return PREFIX_BYTES + buffer.readUInt32LE(at) + buffer.readUInt32LE(at + 4) + buffer.readUInt32LE(at + 8);
}

function readMessages<Head>(buffer: Buffer): Message<Head, string>[] {
  const textsStart = PREFIX_BYTES + buffer.readUInt32LE(0);
  const bodiesStart = textsStart + buffer.readUInt32LE(4);
  const texts = buffer.toString("utf8", textsStart, bodiesStart);
  const entries: Entry<Head>[] = JSON.parse(buffer.toString("utf8", PREFIX_BYTES, textsStart));
  let textStart = 0;
  let bodyStart = bodiesStart;
  return entries.map(([head, textLength, ...bodyBytes]) => ({
    head,
    text: texts.slice(textStart, (textStart += textLength)),
    bodies: bodyBytes.map((bytes) => buffer.toString("utf8", bodyStart, (bodyStart += bytes))),
  }));
}

/** The length of the standard error's end that is kept, in characters. */
const STDERR_TAIL = 4000;
/** The answers to one order. A code unit can need three bytes; the log comes on top. */
const MAX_FRAME_BYTES = 5 * MAX_RESULT_LENGTH;

/** The bodies in a frame, unless it is one message. */
const MAX_FRAME_BODY_BYTES = 64 * 1024;

export interface PipeOptions {
  /** May throw if the report is invalid. */
  onReport(report: Report, text: string): void;
  /** A chunk of reports has been read. */
  onIdle(): void;
  /** The child sends something invalid. */
  onBroken(): void;
  /** The child is gone, and everything it sent has been read. */
  onClose(end: ChildEnd): void;
}

export interface ChildEnd {
  /** The end of its standard error. */
  stderr: string;
  signal: NodeJS.Signals | null;
}

export type SendOrder = (order: Order, text?: string, bodies?: Buffer[]) => void;

/**
 * Connects to a child and gives the function that sends it orders; those of one step of the event loop are sent together.
 * Orders that the child can no longer read are lost: `onClose` follows.
 */
export function connectChild(child: ChildProcessWithoutNullStreams, options: PipeOptions): SendOrder {
  let stderrTail = "";
  let unsent: Message<Order>[] = [];
  const read = createFrameReader<Report>(({ head, text }) => options.onReport(head, text), MAX_FRAME_BYTES);
  child.stdout.on("data", (chunk: Buffer) => {
    try {
      read(chunk);
    } catch {
      options.onBroken();
    }
    options.onIdle();
  });
  child.stderr.on("data", (chunk: Buffer) => {
    stderrTail = (stderrTail + chunk.toString()).slice(-STDERR_TAIL);
  });
  child.on("close", (_code, signal) => options.onClose({ stderr: stderrTail, signal }));

  function flush(): void {
    child.stdin.cork();
    for (const frame of toFrames(unsent)) for (const part of encodeFrame(frame)) child.stdin.write(part);
    child.stdin.uncork();
    unsent = [];
  }

  return function send(head, text = "", bodies = []) {
    if (unsent.push({ head, text, bodies }) === 1) queueMicrotask(flush);
  };
}

/** The child need not read all bodies before it starts with the first. */
function toFrames(messages: Message<Order>[]): Message<Order>[][] {
  const frames: Message<Order>[][] = [];
  let bytes = Infinity;
  for (const message of messages) {
    bytes += message.bodies.reduce((sum, body) => sum + body.length, 0);
    if (bytes > MAX_FRAME_BODY_BYTES) bytes = frames.push([]) && 0;
    frames.at(-1)!.push(message);
  }
  return frames;
}

/** With these, somebody else ends a process: a crash has others. */
const SENT_SIGNALS: (NodeJS.Signals | null)[] = ["SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"];

/** V8 writes to standard error when it runs out of memory, Node and the commands before it when they cannot start. */
export function explainExit({ stderr, signal }: ChildEnd, wasReady: boolean): FailedAnswer {
  if (!wasReady) {
    const [cause = "it ended at once"] = /^.*(?:error|denied|cannot|failed|not permitted).*$/im.exec(stderr) ?? [];
    return { kind: "crashed", message: `The sandbox process cannot start: ${cause.trim()}`, log: [] };
  }
  if (SENT_SIGNALS.includes(signal)) {
    return { kind: "unavailable", message: `The sandbox process was ended from outside, by ${signal}.`, log: [] };
  }
  return /out of memory|allocation failed|bad_alloc/i.test(stderr)
    ? { kind: "memory", message: "The transform exceeded its memory limit.", log: [] }
    : { kind: "crashed", message: "The sandbox process ended while the transform ran.", log: [] };
}
