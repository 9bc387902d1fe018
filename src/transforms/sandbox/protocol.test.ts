import { describe, expect, test } from "vitest";
import { createFrameReader, encodeFrame, type Frame, type Order } from "./protocol.ts";

const ORDER: Order = { kind: "call", job: 1, module: "m", timeoutMs: 5 };

function collect(maxBytes?: number): { push: (chunk: Buffer) => void; frames: Frame<Order>[] } {
  const frames: Frame<Order>[] = [];
  return { push: createFrameReader<Order>((frame) => frames.push(frame), maxBytes), frames };
}

describe("frames", () => {
  const bytes = Buffer.concat([
    encodeFrame(ORDER, "tëxt", Buffer.from([0, 255, 128])),
    encodeFrame({ kind: "unload", module: "m" }),
    encodeFrame(ORDER, "x".repeat(100_000)),
  ]);

  test.each([1, 7, 12, 13, 4096, bytes.length])("come whole out of chunks of %d bytes", (size) => {
    const { push, frames } = collect();
    for (let start = 0; start < bytes.length; start += size) push(bytes.subarray(start, start + size));
    expect(frames.map((frame) => frame.head)).toEqual([ORDER, { kind: "unload", module: "m" }, ORDER]);
    expect(frames[0]!.text).toBe("tëxt");
    expect([...frames[0]!.body]).toEqual([0, 255, 128]);
    expect(frames[2]!.text).toHaveLength(100_000);
  });

  test("over the limit are refused before they are read", () => {
    const { push } = collect(1000);
    expect(() => push(encodeFrame(ORDER, "x".repeat(2000)).subarray(0, 12))).toThrow(/over the limit/);
  });

  test("whose head is no JSON are refused", () => {
    const { push } = collect();
    const frame = encodeFrame(ORDER);
    frame.write("!", 12);
    expect(() => push(frame)).toThrow(SyntaxError);
  });
});
