import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ChannelDriver } from "../../src/channels/port.ts";
import type { DriverError } from "../../src/errors.ts";
import type { Fault } from "../support/fault-proxy.ts";
import { failureOf } from "../support/failure.ts";

export interface ChannelUnderTest {
  channel: ChannelDriver;
  /** A recipient that takes messages. */
  to: string;
  /** A recipient of the right form that does not exist. */
  unknown: string;
  /** Texts that are no recipient. */
  malformed: string[];
  /** What the recipient got, as people read it, oldest first. */
  received(): Promise<string[]>;
  /** What the service does to the next messages, as it comes over the wire. */
  inject(fault: Fault): void;
  /** A service's own way to say these. */
  faults: { rateLimited: Fault; retryAfterMs: number | undefined; refusedForGood: Fault; brokenDown: Fault };
  requestCount(): number;
  close(): Promise<void>;
}

const never = new AbortController().signal;

/** What every channel must do. */
export function describeChannel(name: string, open: () => Promise<ChannelUnderTest>): void {
  describe(`channel contract: ${name}`, () => {
    let subject: ChannelUnderTest;
    beforeEach(async () => void (subject = await open()));
    afterEach(() => subject.close());

    const send = (text = "Hello.", options: { to?: string; signal?: AbortSignal } = {}) => {
      const message = { to: options.to ?? subject.to, text, idempotencyKey: "delivery-1:0" };
      return subject.channel.send(message, options.signal ?? never);
    };
    const failure = (options?: { to?: string; signal?: AbortSignal }): Promise<DriverError> =>
      failureOf(send("Hello.", options));

    test("delivers, and tells the message's id", async () => {
      const { messageId } = await send("Hello, *you*.");
      expect(messageId).toBeTypeOf("string");
      expect(await subject.received()).toEqual(["Hello, *you*."]);
    });

    test("delivers text as it is, whatever it would mean to the service", async () => {
      const text = 'a < b && c > d; <!channel> <https://x.test|click> & &amp; "q" 👩‍👩‍👧 Ünïcödé\nline two';
      await send(text);
      expect(await subject.received()).toEqual([text]);
    });

    test("delivers a message as long as its limit", async () => {
      const text = "x".repeat(subject.channel.limit);
      expect(subject.channel.measure?.(text) ?? text.length).toBe(subject.channel.limit);
      await send(text);
      expect(await subject.received()).toEqual([text]);
    });

    test("knows a recipient by its form", () => {
      for (const to of [subject.to, subject.unknown]) subject.channel.checkRecipient(to);
      for (const to of subject.malformed) {
        expect(() => subject.channel.checkRecipient(to)).toThrow(
          expect.objectContaining({ kind: "lasting" }),
        );
      }
    });

    test("gives up on an unknown recipient", async () => {
      expect(await failure({ to: subject.unknown })).toMatchObject({ kind: "lasting" });
    });

    test("leaves the wait of a rate limit to the caller", async () => {
      subject.inject(subject.faults.rateLimited);
      const { retryAfterMs } = subject.faults;
      expect(await failure()).toMatchObject({ kind: "passing", retryAfterMs });
      expect(subject.requestCount()).toBe(1);
    });

    test("takes a service that broke down for passing, and does not retry by itself", async () => {
      subject.inject(subject.faults.brokenDown);
      expect(await failure()).toMatchObject({ kind: "passing" });
      expect(subject.requestCount()).toBe(1);
    });

    test("gives up where the service refuses for good", async () => {
      subject.inject(subject.faults.refusedForGood);
      expect(await failure()).toMatchObject({ kind: "lasting" });
    });

    test("takes a closed socket for passing, and does not retry by itself", async () => {
      subject.inject({ kind: "cut" });
      expect(await failure()).toMatchObject({ kind: "passing" });
      expect(subject.requestCount()).toBe(1);
    });

    test("settles within a moment of the abort while the service is silent", async () => {
      subject.inject({ kind: "hang" });
      const abort = new AbortController();
      const failed = failure({ signal: abort.signal });
      await expect.poll(() => subject.requestCount()).toBe(1);
      const abortedAt = performance.now();
      abort.abort();
      expect(await failed).toMatchObject({ kind: "passing" });
      expect(performance.now() - abortedAt).toBeLessThan(500);
    });

    test("sends nothing once it is aborted", async () => {
      await failure({ signal: AbortSignal.abort() });
      expect(subject.requestCount()).toBe(0);
    });
  });
}
