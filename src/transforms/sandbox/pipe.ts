import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { type FailedAnswer, MAX_RESULT_LENGTH } from "./answer.ts";
import {
  BATCH_LENGTH,
  createFrameReader,
  encodeFrame,
  type Message,
  NO_BODY,
  type Order,
  type Report,
} from "./protocol.ts";

/** The length of the standard error's end that is kept, in characters. */
const STDERR_TAIL = 4000;
/** A batch that is nearly full and one more answer. A code unit can need three bytes; the log comes on top. */
const MAX_FRAME_BYTES = 4 * BATCH_LENGTH + 4 * MAX_RESULT_LENGTH;

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

export type SendOrder = (order: Order, text?: string, body?: Buffer) => void;

/**
 * Connects to a child and gives the function that sends it orders; those of one turn of the event loop are sent together.
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
  child.stdin.on("error", () => {});
  child.on("error", () => {});
  child.on("close", () => options.onClose(stderrTail));

  function flush(): void {
    child.stdin.write(encodeFrame(unsent));
    unsent = [];
  }

  return function send(head, text = "", body = NO_BODY) {
    if (unsent.push({ head, text, body }) === 1) setImmediate(flush);
  };
}

/** V8 writes to standard error when it runs out of memory. */
export function explainExit(stderrTail: string): FailedAnswer {
  return /out of memory|allocation failed|bad_alloc/i.test(stderrTail)
    ? { kind: "memory", message: "The transform exceeded its memory limit.", log: [] }
    : { kind: "crashed", message: "The sandbox process ended while the transform ran.", log: [] };
}
