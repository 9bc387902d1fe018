import assert from "node:assert/strict";
import { type ChannelUnderTest, describeChannel } from "./describe-channel.ts";
import { type Checks, describeContract, type TestRunner } from "./describe-contract.ts";
import { failureOf } from "./failure-of.ts";
import type { Fault } from "./fault-proxy.ts";
import { requireHeedsAbort } from "./require-heeds-abort.ts";
import { sendTo } from "./send-to.ts";

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
  describeContract(runner, { title: `remote channel contract: ${name}`, open, checks: CHECKS });
}

const CHECKS: Checks<RemoteChannelUnderTest> = {
  async "tells the message's id"(subject) {
    assert.equal(typeof (await sendTo(subject)).messageId, "string");
  },

  async "gives up on an unknown recipient"(subject) {
    subject.channel.checkRecipient(subject.unknown);
    assert.equal((await failureOf(sendTo(subject, { to: subject.unknown }))).kind, "lasting");
  },

  async "leaves the wait of a rate limit to the caller"(subject) {
    const { rateLimited, retryAfterMs } = subject.faults;
    subject.inject(rateLimited);
    const failure = await failureOf(sendTo(subject));
    assert.equal(failure.kind, "passing");
    assert.equal(failure.retryAfterMs, retryAfterMs);
    assert.equal(subject.requestCount(), 1);
  },

  "takes a service that broke down for passing, and does not retry by itself": (subject) =>
    requirePassing(subject, subject.faults.brokenDown),

  "takes a closed socket for passing, and does not retry by itself": (subject) =>
    requirePassing(subject, { kind: "cut" }),

  async "gives up where the service refuses for good"(subject) {
    subject.inject(subject.faults.refusedForGood);
    assert.equal((await failureOf(sendTo(subject))).kind, "lasting");
  },

  async "settles soon after the abort while the service is silent"(subject) {
    subject.inject({ kind: "hang" });
    await requireHeedsAbort(
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
  assert.equal((await failureOf(sendTo(subject))).kind, "passing");
  assert.equal(subject.requestCount(), 1);
}
