import { describe, expect, test } from "vitest";
import { createFrameReader, encodeFrame, type Message, NO_BODY, type Order } from "./protocol.ts";

const ORDER: Order = { kind: "call", job: 1, module: "m", timeoutMs: 5 };
const UNLOAD: Order = { kind: "unload", module: "m" };

function collect(maxBytes?: number): { push: (chunk: Buffer) => void; messages: Message<Order>[] } {
  const messages: Message<Order>[] = [];
  return { push: createFrameReader<Order>((message) => messages.push(message), maxBytes), messages };
}

function toMessage(head: Order, text = "", body = NO_BODY): Message<Order> {
  return { head, text, body };
}

describe("frames", () => {
  const bytes = Buffer.concat([
    encodeFrame([
      toMessage(ORDER, "tëxt 😀", Buffer.from([0, 255, 128])),
      toMessage(UNLOAD),
      toMessage(ORDER, "€", Buffer.from([7])),
    ]),
    encodeFrame([toMessage(ORDER, "x".repeat(100_000))]),
  ]);

  test.each([1, 7, 12, 13, 4096, bytes.length])("are read from chunks of %d bytes", (size) => {
    const { push, messages } = collect();
    for (let start = 0; start < bytes.length; start += size) push(bytes.subarray(start, start + size));
    expect(messages.map(({ head }) => head)).toEqual([ORDER, UNLOAD, ORDER, ORDER]);
    expect(messages.map(({ text }) => text)).toEqual(["tëxt 😀", "", "€", "x".repeat(100_000)]);
    expect(messages.map(({ body }) => [...body])).toEqual([[0, 255, 128], [], [7], []]);
  });

  test("over the limit are refused before they are complete", () => {
    const { push } = collect(1000);
    expect(() => push(encodeFrame([toMessage(ORDER, "x".repeat(2000))]).subarray(0, 12))).toThrow(/exceeds the limit/);
  });

  test("with heads that are not JSON are refused", () => {
    const { push } = collect();
    const frame = encodeFrame([toMessage(ORDER)]);
    frame.write("!", 12);
    expect(() => push(frame)).toThrow(SyntaxError);
  });
});
