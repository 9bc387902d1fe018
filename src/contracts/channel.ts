import assert from "node:assert/strict";
import { inspect } from "node:util";
import type { ChannelDriver, OutgoingMessage } from "../core/ports/channel.ts";
import { DriverError } from "../core/errors.ts";
import type { Fault } from "./fault-proxy.ts";
import { assertAborts, type Checks, describeContract, failureOf, type TestRunner, type UnderTest } from "./harness.ts";

/** A channel, with a place that it can send to. */
export interface ChannelUnderTest extends UnderTest {
  channel: ChannelDriver;
  /** A recipient that accepts messages. */
  to: string;
  /** The form of `to` that names a thread or a message there, if the channel has one. */
  thread?: string;
  /** Texts that cannot be a recipient. */
  malformed: string[];
  /** The texts that the recipient has received, oldest first. */
  received(): Promise<string[]>;
}

/** The contract of each channel. `open` returns a channel whose recipient has received nothing yet. */
export function describeChannel(runner: TestRunner, name: string, open: () => Promise<ChannelUnderTest>): void {
  describeContract(runner, { title: `channel contract: ${name}`, open, checks: CHECKS });
}

const CHECKS: Checks<ChannelUnderTest> = {
  "delivers a text": (subject) => assertDelivers(subject, "Hello, *you*."),

  "delivers markup, mentions and emoji as plain text": (subject) =>
    assertDelivers(subject, 'a < b && c > d; <!channel> <https://x.test|click> & &amp; "q" 👩‍👩‍👧 Ünïcödé\nline two'),

  async "delivers a text as long as the limit"(subject) {
    const { channel } = subject;
    const text = "x".repeat(channel.limit);
    assert.equal(channel.measure?.(text) ?? text.length, channel.limit);
    await assertDelivers(subject, text);
  },

  async "rejects malformed recipients with a permanent error"({ channel, to, malformed }) {
    channel.checkRecipient(to);
    for (const text of malformed) assert.throws(() => channel.checkRecipient(text), isPermanent, text);
  },

  async "delivers to a thread, whose channel is what the block allows"(subject) {
    const { channel, to, thread } = subject;
    if (thread === undefined) return;
    channel.checkRecipient(thread);
    assert.equal(channel.addressOf?.(thread), channel.addressOf?.(to));
    await sendTo(subject, { to: thread });
    assert.deepEqual(await subject.received(), ["Hello."]);
  },

  async "opens a thread, and goes on in it, if the service has threads"(subject) {
    const { channel, to } = subject;
    if (!channel.isThread) return;
    assert.equal(channel.isThread(to), false);
    const first = await sendTo(subject, { thread: {} });
    assert.equal(typeof first.thread, "string");
    const more = { thread: { to: first.thread }, text: "More.", idempotencyKey: "delivery-2:0" };
    assert.equal((await sendTo(subject, more)).thread, first.thread);
  },

  async "delivers a reply in Markdown, and nothing of it notifies a group or hides an address"(subject) {
    const text = "It is **done**: [see](https://x.test/1) <!channel> @everyone ![](https://x.test/2)";
    await sendTo(subject, { text, format: "markdown" });
    const [received = "", ...others] = await subject.received();
    assert.deepEqual(others, []);
    for (const shown of ["done", "see", "https://x.test/1"]) assert.ok(received.includes(shown), received);
    // A channel that writes texts as they are has nothing to do.
    if (received !== text) assert.doesNotMatch(received, /\]\(|!\[|@everyone/);
  },

  async "replaces an earlier message, if it can"(subject) {
    if (!subject.channel.canUpdate) return;
    const { messageId } = await sendTo(subject);
    const edited = await sendTo(subject, { text: "Edited.", replaces: messageId, idempotencyKey: "delivery-2:0" });
    assert.equal(edited.messageId, messageId);
    assert.deepEqual(await subject.received(), ["Edited."]);
  },

  async "deletes an earlier message, if it can, and one that is gone"(subject) {
    const { channel, to } = subject;
    const { messageId } = await sendTo(subject);
    if (!channel.remove || messageId === undefined) return;
    await channel.remove(to, messageId, new AbortController().signal);
    assert.ok(!(await subject.received()).includes("Hello."));
    await channel.remove(to, messageId, new AbortController().signal);
  },

  async "shows that an answer is being written, if it can, and takes it away"({ channel, to, thread = to }) {
    const stop = await channel.startWorking?.(thread, new AbortController().signal);
    await stop?.();
  },

  async "sends nothing after an abort"(subject) {
    await failureOf(sendTo(subject, { signal: AbortSignal.abort() }));
    assert.deepEqual(await subject.received(), []);
  },
};

async function assertDelivers(subject: ChannelUnderTest, text: string): Promise<void> {
  const { messageId } = await sendTo(subject, { text });
  assert.match(typeof messageId, /^(string|undefined)$/);
  assert.deepEqual(await subject.received(), [text]);
}

function isPermanent(error: unknown): boolean {
  return error instanceof DriverError && !error.retryable;
}

/** A channel that sends to a server in which the suite can cause failures. */
export interface RemoteChannelUnderTest extends ChannelUnderTest {
  /** A well-formed recipient that does not exist. */
  unknown: string;
  /** The driver's credential, which no error may show. */
  secret?: string;
  /** Makes the next requests for messages fail. `startFaultProxy` can do it. */
  inject(fault: Fault): void;
  /** The answers with which this service says these things. */
  faults: {
    rateLimited: Fault;
    /** How long `rateLimited` asks to wait; undefined if the service does not say. */
    retryAfterMs: number | undefined;
    refusedForGood: Fault;
    brokenDown: Fault;
  };
  /** How many requests for messages the server has received. */
  requestCount(): number;
}

/** The contract of each channel that sends over a network. `open` returns one whose server works. */
export function describeRemoteChannel(
  runner: TestRunner,
  name: string,
  open: () => Promise<RemoteChannelUnderTest>,
): void {
  describeChannel(runner, name, open);
  describeContract(runner, { title: `remote channel contract: ${name}`, open, checks: REMOTE_CHECKS });
}

const REMOTE_CHECKS: Checks<RemoteChannelUnderTest> = {
  async "returns the message's id"(subject) {
    assert.equal(typeof (await sendTo(subject)).messageId, "string");
  },

  async "an unknown recipient is a permanent error"(subject) {
    subject.channel.checkRecipient(subject.unknown);
    assert.equal((await failureOf(sendTo(subject, { to: subject.unknown }))).retryable, false);
  },

  async "a rate limit is a retryable error with the time to wait"(subject) {
    const { rateLimited, retryAfterMs } = subject.faults;
    subject.inject(rateLimited);
    const failure = await failureOf(sendTo(subject));
    assert.equal(failure.retryable, true);
    assert.equal(failure.retryAfterMs, retryAfterMs);
    assert.equal(subject.requestCount(), 1);
  },

  "a failure of the service is a retryable error, and the driver does not retry by itself": (subject) =>
    assertRetryable(subject, subject.faults.brokenDown),

  "a closed connection is a retryable error, and the driver does not retry by itself": (subject) =>
    assertRetryable(subject, { kind: "cut" }),

  async "a refusal is a permanent error"(subject) {
    subject.inject(subject.faults.refusedForGood);
    assert.equal((await failureOf(sendTo(subject))).retryable, false);
  },

  async "rejects soon after an abort while the service does not answer"(subject) {
    subject.inject({ kind: "hang" });
    await assertAborts(
      (signal) => sendTo(subject, { signal }),
      () => subject.requestCount(),
    );
  },

  async "sends no request after an abort"(subject) {
    await failureOf(sendTo(subject, { signal: AbortSignal.abort() }));
    assert.equal(subject.requestCount(), 0);
  },
};

async function assertRetryable(subject: RemoteChannelUnderTest, fault: Fault): Promise<void> {
  subject.inject(fault);
  const failure = await failureOf(sendTo(subject));
  assert.equal(failure.retryable, true);
  assert.equal(subject.requestCount(), 1);
  const { secret } = subject;
  if (secret) assert.ok(!inspect(failure, { depth: null }).includes(secret), "The error shows the credential.");
}

function sendTo(
  { channel, to }: { channel: ChannelDriver; to: string },
  { signal = new AbortController().signal, ...message }: Partial<OutgoingMessage> & { signal?: AbortSignal } = {},
): ReturnType<ChannelDriver["send"]> {
  return channel.send({ to, text: "Hello.", idempotencyKey: "delivery-1:0", ...message }, signal);
}
