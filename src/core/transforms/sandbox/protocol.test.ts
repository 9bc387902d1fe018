import { describe, expect, test } from "vitest";
import { createFrameReader, encodeFrame, type Message, type Order } from "./protocol.ts";

const ORDER: Order = { kind: "call", job: 1, module: "m", timeoutMs: 5 };
const UNLOAD: Order = { kind: "unload", module: "m" };

function collect(maxBytes?: number): { push: (chunk: Buffer) => void; messages: Message<Order, string>[] } {
  const messages: Message<Order, string>[] = [];
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
      toMessage(ORDER, "tëxt 😀", [Buffer.from("ä€😀"), Buffer.alloc(0), Buffer.from([0xff])]),
      toMessage(UNLOAD),
      toMessage(ORDER, "€", [Buffer.from("b")]),
    ),
    encode(toMessage(ORDER, "x".repeat(100_000), [Buffer.alloc(100_000, "z")])),
  ]);

  test.each([1, 7, 12, 13, 4096, 65_536, bytes.length])("are read from chunks of %d bytes", (size) => {
    const { push, messages } = collect();
    for (let start = 0; start < bytes.length; start += size) push(bytes.subarray(start, start + size));
    expect(messages.map(({ head }) => head)).toEqual([ORDER, UNLOAD, ORDER, ORDER]);
    expect(messages.map(({ text }) => text)).toEqual(["tëxt 😀", "", "€", "x".repeat(100_000)]);
    const bodies = [["ä€😀", "", "\uFFFD"], [], ["b"], ["z".repeat(100_000)]];
    expect(messages.map((message) => message.bodies)).toEqual(bodies);
  });

  test("of every size follow each other", () => {
    const { push, messages } = collect();
    const sizes = [10, 3_000_000, 10, 200_000, 0, 2_000_000];
    const frames = Buffer.concat(sizes.map((size) => encode(toMessage(ORDER, "t", [Buffer.alloc(size, "a")]))));
    for (let start = 0; start < frames.length; start += 60_000) push(frames.subarray(start, start + 60_000));
    expect(messages.map(({ text, bodies }) => [text, bodies[0]?.length])).toEqual(sizes.map((size) => ["t", size]));
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
