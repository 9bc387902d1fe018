import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { FULL_LENGTH } from "../child/report-box.ts";
import { type FailedAnswer, MAX_ANSWER_BYTES } from "./answer.ts";
import { createFrameReader, encodeFrame, type Message, NO_BODY, type Order, type Report } from "./protocol.ts";

const STDERR_TAIL = 4000;
/** A box that is nearly full and one more answer. */
const MAX_FRAME_BYTES = 4 * FULL_LENGTH + MAX_ANSWER_BYTES;

export interface ChildPipeOptions {
  process: ChildProcessWithoutNullStreams;
  /** `text` is what came with the report. May throw where the report makes no sense. */
  onReport(report: Report, text: string): void;
  /** A chunk of reports has been read. */
  onPause(): void;
  /** What the child sends is no longer to be read. */
  onBroken(): void;
  /** It is gone, and all it had sent has been read; `lastWords` are the end of its standard error. */
  onClose(lastWords: string): void;
}

/**
 * Gives the way to send orders to a child; those of one turn of the event loop go together. What happens to orders
 * that it can no longer read is told by `onClose`.
 */
export function connectChild(options: ChildPipeOptions): (order: Order, text?: string, body?: Buffer) => void {
  const child = options.process;
  let lastWords = "";
  const read = createFrameReader<Report>(({ head, text }) => options.onReport(head, text), MAX_FRAME_BYTES);
  child.stdout.on("data", (chunk: Buffer) => {
    try {
      read(chunk);
    } catch {
      options.onBroken();
    }
    options.onPause();
  });
  child.stderr.on("data", (chunk: Buffer) => {
    lastWords = (lastWords + chunk.toString()).slice(-STDERR_TAIL);
  });
  child.stdin.on("error", () => {});
  child.on("error", () => {});
  child.on("close", () => options.onClose(lastWords));
  return createSender(child);
}

function createSender(child: ChildProcessWithoutNullStreams): (order: Order, text?: string, body?: Buffer) => void {
  let messages: Message<Order>[] = [];

  function flush(): void {
    child.stdin.write(encodeFrame(messages));
    messages = [];
  }

  return function send(head, text = "", body = NO_BODY) {
    if (messages.push({ head, text, body }) === 1) setImmediate(flush);
  };
}

/** What the last words of a process tell of its end. V8 says so where it ran out of memory. */
export function explainDeath(stderr: string): FailedAnswer {
  return /out of memory|allocation failed|bad_alloc/i.test(stderr)
    ? { kind: "memory", message: "The transform needed more memory than it may have.", log: [] }
    : { kind: "crashed", message: "The sandbox process ended while the transform ran.", log: [] };
}
