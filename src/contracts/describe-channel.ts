import assert from "node:assert/strict";
import type { ChannelDriver } from "../channels/port.ts";
import { DriverError } from "../errors.ts";
import { type Checks, describeContract, type TestRunner, type UnderTest } from "./describe-contract.ts";
import { failureOf } from "./failure-of.ts";
import { sendTo } from "./send-to.ts";

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
export function describeChannel(
  runner: TestRunner,
  name: string,
  open: () => Promise<ChannelUnderTest>,
): void {
  describeContract(runner, { title: `channel contract: ${name}`, open, checks: CHECKS });
}

const CHECKS: Checks<ChannelUnderTest> = {
  "delivers what it is given": (subject) => requireDelivers(subject, "Hello, *you*."),

  "delivers text as it is, whatever it would mean to the service": (subject) =>
    requireDelivers(
      subject,
      'a < b && c > d; <!channel> <https://x.test|click> & &amp; "q" 👩‍👩‍👧 Ünïcödé\nline two',
    ),

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
  return error instanceof DriverError && error.kind === "lasting";
}
