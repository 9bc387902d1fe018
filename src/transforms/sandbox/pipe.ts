import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { type FailedAnswer, MAX_RESULT_LENGTH } from "./answer.ts";
import { createFrameReader, encodeFrame, type Message, type Order, type Report } from "./protocol.ts";

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
  onClose(stderrTail: string): void;
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
  child.on("close", () => options.onClose(stderrTail));

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

/** V8 writes to standard error when it runs out of memory, Node and the commands before it when they cannot start. */
export function explainExit(stderrTail: string, wasReady: boolean): FailedAnswer {
  if (!wasReady) {
    const [cause = "it ended at once"] = /^.*(?:error|denied|cannot|failed|not permitted).*$/im.exec(stderrTail) ?? [];
    return { kind: "crashed", message: `The sandbox process cannot start: ${cause.trim()}`, log: [] };
  }
  return /out of memory|allocation failed|bad_alloc/i.test(stderrTail)
    ? { kind: "memory", message: "The transform exceeded its memory limit.", log: [] }
    : { kind: "crashed", message: "The sandbox process ended while the transform ran.", log: [] };
}
