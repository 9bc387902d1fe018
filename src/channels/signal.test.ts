import { describe, expect, test } from "vitest";
import { describeRemoteChannel, type RemoteChannelUnderTest } from "../contracts/describe-remote-channel.ts";
import { failureOf } from "../contracts/failure-of.ts";
import { type Fault, startFaultProxy } from "../contracts/fault-proxy.ts";
import { signalError, startSignal } from "../../test/support/signal.ts";
import { createSignal } from "./signal.ts";

describeRemoteChannel({ describe, test }, "signal", open);

describe("signal", () => {
  const never = new AbortController().signal;

  test("sends to a number, a username and a group", async () => {
    const daemon = await startSignal();
    const { number, username, group } = daemon.recipients;
    const channel = createSignal(daemon);
    for (const to of [number, username, `u:${username}`, group, `group:${group}`]) {
      await channel.send({ to, text: "Hello.", idempotencyKey: "1" }, never);
    }
    expect(daemon.messages().map(({ to }) => to)).toEqual([number, username, username, group, group]);
    await daemon.close();
  });

  test.each(["5f1b1c1e-2d70-4c3b-9c0e-0a4f5d6e7f80", "+4915112345678", "Pmpi+EfPWmsxiomLe9Nx2Q=="])(
    "%s is a recipient",
    (to) => {
      expect(() => createSignal({}).checkRecipient(to)).not.toThrow();
    },
  );

  test("an account that the daemon does not have is lasting", async () => {
    const daemon = await startSignal();
    const channel = createSignal({ ...daemon, account: "+15550000000" });
    const message = { to: daemon.recipients.number, text: "Hello.", idempotencyKey: "1" };
    expect(await failureOf(channel.send(message, never))).toMatchObject({
      kind: "lasting",
      message: "signal-cli refused the message: -32602. Check channels.signal.account.",
    });
    await daemon.close();
  });

  test("counts bytes", () => {
    expect(createSignal({}).measure?.("ü😀")).toBe(6);
  });
});

async function open(): Promise<RemoteChannelUnderTest> {
  const daemon = await startSignal();
  const proxy = await startFaultProxy(daemon.baseUrl);
  return {
    channel: createSignal({ ...daemon, baseUrl: proxy.url }),
    to: daemon.recipients.number,
    unknown: "+15550000000",
    malformed: ["", " ", "15551234567", "+", "ada", "u:ada", "group:", "group:abc=", "#general"],
    received: async () => daemon.messages().map(({ text }) => text),
    inject: (fault) => proxy.inject(fault),
    faults: {
      rateLimited: refusal(-5, [{ type: "RATE_LIMIT_FAILURE", retryAfterSeconds: 7 }]),
      retryAfterMs: 7000,
      refusedForGood: refusal(-4, [{ type: "IDENTITY_FAILURE" }]),
      brokenDown: refusal(-32_603),
    },
    requestCount: () => proxy.requests.length,
    async close() {
      await proxy.close();
      await daemon.close();
    },
  };
}

function refusal(code: number, results?: Record<string, unknown>[]): Fault {
  return { kind: "answer", status: 200, body: JSON.stringify(signalError(code, results).body) };
}
