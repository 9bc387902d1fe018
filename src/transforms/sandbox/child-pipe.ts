import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { MAX_ANSWER_BYTES } from "./answer.ts";
import { createFrameReader, encodeFrame, type Order, type Report } from "./protocol.ts";

const STDERR_TAIL = 4000;

export interface ChildPipeOptions {
  process: ChildProcessWithoutNullStreams;
  /** `text` is what came with the report. May throw where the report makes no sense. */
  onReport(report: Report, text: string): void;
  /** What the child sends is no longer to be read. */
  onBroken(): void;
  /** It is gone, and all it had sent has been read; `lastWords` are the end of its standard error. */
  onClose(lastWords: string): void;
}

/** Gives the way to send orders to a child. What happens to those that it can no longer read is told by `onClose`. */
export function connectChild(
  options: ChildPipeOptions,
): (order: Order, text?: string, body?: Buffer) => void {
  const child = options.process;
  let lastWords = "";
  const read = createFrameReader<Report>(({ head, text }) => options.onReport(head, text), MAX_ANSWER_BYTES);
  child.stdout.on("data", (chunk: Buffer) => {
    try {
      read(chunk);
    } catch {
      options.onBroken();
    }
  });
  child.stderr.on("data", (chunk: Buffer) => {
    lastWords = (lastWords + chunk.toString()).slice(-STDERR_TAIL);
  });
  child.stdin.on("error", () => {});
  child.on("error", () => {});
  child.on("close", () => options.onClose(lastWords));
  return (order, text, body) => void child.stdin.write(encodeFrame(order, text, body));
}
