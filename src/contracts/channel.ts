import assert from "node:assert/strict";
import type { ChannelDriver, OutgoingMessage } from "../channels/driver.ts";
import { DriverError } from "../errors.ts";
import type { Fault } from "./fault-proxy.ts";
import { type Checks, describeContract, failureOf, assertAborts, type TestRunner, type UnderTest } from "./harness.ts";

export interface ChannelUnderTest extends UnderTest {
  channel: ChannelDriver;
  /** A recipient that takes messages. */
  to: string;
  /** Texts that are no recipient. */
  malformed: string[];
  /** What the recipient got, as people read it, oldest first. */
  received(): Promise<string[]>;
}

/** What every channel must do. `open` gives one whose recipient has got nothing yet. */
export function describeChannel(runner: TestRunner, name: string, open: () => Promise<ChannelUnderTest>): void {
  describeContract(runner, { title: `channel contract: ${name}`, open, checks: CHECKS });
}

const CHECKS: Checks<ChannelUnderTest> = {
  "delivers what it is given": (subject) => requireDelivers(subject, "Hello, *you*."),

  "delivers text as it is, whatever it would mean to the service": (subject) =>
    requireDelivers(subject, 'a < b && c > d; <!channel> <https://x.test|click> & &amp; "q" 👩‍👩‍👧 Ünïcödé\nline two'),

  async "delivers a message as long as its limit"(subject) {
    const { channel } = subject;
    const text = "x".repeat(channel.limit);
    assert.equal(channel.measure?.(text) ?? text.length, channel.limit);
    await requireDelivers(subject, text);
  },

  async "knows a recipient by its form"({ channel, to, malformed }) {
    channel.checkRecipient(to);
    for (const text of malformed) assert.throws(() => channel.checkRecipient(text), isLasting, text);
  },

  async "sends nothing once it is aborted"(subject) {
    await failureOf(sendTo(subject, { signal: AbortSignal.abort() }));
    assert.deepEqual(await subject.received(), []);
  },
};

async function requireDelivers(subject: ChannelUnderTest, text: string): Promise<void> {
  const { messageId } = await sendTo(subject, { text });
  assert.match(typeof messageId, /^(string|undefined)$/);
  assert.deepEqual(await subject.received(), [text]);
}

function isLasting(error: unknown): boolean {
  return error instanceof DriverError && !error.retryable;
}

/** A channel whose messages go to a server that the suite can break. */
export interface RemoteChannelUnderTest extends ChannelUnderTest {
  /** A recipient of the right form that does not exist. */
  unknown: string;
  /** What the service does to the next messages, as it comes over the wire: `startFaultProxy` can. */
  inject(fault: Fault): void;
  /** A service's own way to say these. */
  faults: {
    rateLimited: Fault;
    /** How long `rateLimited` asks to wait; undefined where the service does not say. */
    retryAfterMs: number | undefined;
    refusedForGood: Fault;
    brokenDown: Fault;
  };
  /** How many requests for messages the service has had. */
  requestCount(): number;
}

/** What a channel must do that reaches its service over a network. `open` gives one whose service works. */
export function describeRemoteChannel(
  runner: TestRunner,
  name: string,
  open: () => Promise<RemoteChannelUnderTest>,
): void {
  describeChannel(runner, name, open);
  describeContract(runner, { title: `remote channel contract: ${name}`, open, checks: REMOTE_CHECKS });
}

const REMOTE_CHECKS: Checks<RemoteChannelUnderTest> = {
  async "tells the message's id"(subject) {
    assert.equal(typeof (await sendTo(subject)).messageId, "string");
  },

  async "gives up on an unknown recipient"(subject) {
    subject.channel.checkRecipient(subject.unknown);
    assert.equal((await failureOf(sendTo(subject, { to: subject.unknown }))).retryable, false);
  },

  async "leaves the wait of a rate limit to the caller"(subject) {
    const { rateLimited, retryAfterMs } = subject.faults;
    subject.inject(rateLimited);
    const failure = await failureOf(sendTo(subject));
    assert.equal(failure.retryable, true);
    assert.equal(failure.retryAfterMs, retryAfterMs);
    assert.equal(subject.requestCount(), 1);
  },

  "takes a service that broke down for passing, and does not retry by itself": (subject) =>
    requirePassing(subject, subject.faults.brokenDown),

  "takes a closed socket for passing, and does not retry by itself": (subject) =>
    requirePassing(subject, { kind: "cut" }),

  async "gives up where the service refuses for good"(subject) {
    subject.inject(subject.faults.refusedForGood);
    assert.equal((await failureOf(sendTo(subject))).retryable, false);
  },

  async "settles soon after the abort while the service is silent"(subject) {
    subject.inject({ kind: "hang" });
    await assertAborts(
      (signal) => sendTo(subject, { signal }),
      () => subject.requestCount(),
    );
  },

  async "asks for nothing once it is aborted"(subject) {
    await failureOf(sendTo(subject, { signal: AbortSignal.abort() }));
    assert.equal(subject.requestCount(), 0);
  },
};

async function requirePassing(subject: RemoteChannelUnderTest, fault: Fault): Promise<void> {
  subject.inject(fault);
  assert.equal((await failureOf(sendTo(subject))).retryable, true);
  assert.equal(subject.requestCount(), 1);
}

/** Sends a message through a driver, to the recipient unless another is named. */
function sendTo(
  { channel, to }: { channel: ChannelDriver; to: string },
  { signal = new AbortController().signal, ...message }: Partial<OutgoingMessage> & { signal?: AbortSignal } = {},
): ReturnType<ChannelDriver["send"]> {
  return channel.send({ to, text: "Hello.", idempotencyKey: "delivery-1:0", ...message }, signal);
}
