import type { Readable } from "node:stream";
import { stripVTControlCharacters } from "node:util";

/** The end of what a stream has given so far. */
export interface Tail {
  /** As UTF-8, without colours and control characters. */
  text(): string;
  /** Leaves behind what came up to now. */
  clear(): void;
}

/** How much is kept, in bytes. */
const MOST_BYTES = 4096;

/** Reads a stream, so that whoever writes to it never waits, and keeps no more than the end. */
export function collectTail(stream: Readable): Tail {
  let tail = Buffer.alloc(0);
  stream.on("data", (chunk: Buffer) => {
    tail = Buffer.concat([tail, chunk]).subarray(-MOST_BYTES);
  });
  return {
    text: () => stripVTControlCharacters(tail.toString("utf8")).replaceAll(/\p{Cc}+/gu, " "),
    clear: () => void (tail = Buffer.alloc(0)),
  };
}
