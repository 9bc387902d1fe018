import { describe, expect, test } from "vitest";
import { createFrameReader, encodeFrame, type Message, type Order } from "./protocol.ts";

const ORDER: Order = { kind: "call", job: 1, module: "m", timeoutMs: 5 };
const UNLOAD: Order = { kind: "unload", module: "m" };

function collect(maxBytes?: number): { push: (chunk: Buffer) => void; messages: Message<Order>[] } {
  const messages: Message<Order>[] = [];
  return { push: createFrameReader<Order>((message) => messages.push(message), maxBytes), messages };
}

function toMessage(head: Order, text = "", bodies: Buffer[] = []): Message<Order> {
  return { head, text, bodies };
}

function encode(...messages: Message<Order>[]): Buffer {
  return Buffer.concat(encodeFrame(messages));
}

describe("frames", () => {
  const bytes = Buffer.concat([
    encode(
      toMessage(ORDER, "tëxt 😀", [Buffer.from([0, 255, 128]), Buffer.alloc(0), Buffer.from([1])]),
      toMessage(UNLOAD),
      toMessage(ORDER, "€", [Buffer.from([7])]),
    ),
    encode(toMessage(ORDER, "x".repeat(100_000), [Buffer.alloc(100_000, 5)])),
  ]);

  test.each([1, 7, 12, 13, 4096, bytes.length])("are read from chunks of %d bytes", (size) => {
    const { push, messages } = collect();
    for (let start = 0; start < bytes.length; start += size) push(bytes.subarray(start, start + size));
    expect(messages.map(({ head }) => head)).toEqual([ORDER, UNLOAD, ORDER, ORDER]);
    expect(messages.map(({ text }) => text)).toEqual(["tëxt 😀", "", "€", "x".repeat(100_000)]);
    const bodies = messages.map((message) => message.bodies.map((body) => [...body]));
    expect(bodies).toEqual([[[0, 255, 128], [], [1]], [], [[7]], [Array(100_000).fill(5)]]);
  });

  test("over the limit are refused before they are complete", () => {
    const { push } = collect(1000);
    expect(() => push(encode(toMessage(ORDER, "x".repeat(2000))).subarray(0, 12))).toThrow(/exceeds the limit/);
  });

  test("with heads that are not JSON are refused", () => {
    const { push } = collect();
    const frame = encode(toMessage(ORDER));
    frame.write("!", 12);
    expect(() => push(frame)).toThrow(SyntaxError);
  });
});
