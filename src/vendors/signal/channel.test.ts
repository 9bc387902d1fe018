import { describe, expect, test } from "vitest";
import { signalError, startSignal } from "../../../test/support/signal.ts";
import { describeRefusals } from "../../../test/support/vendors/refusals.ts";
import { openFaultServer } from "../../../test/support/fault-server.ts";
import { describeRemoteChannel, type RemoteChannelUnderTest } from "../../contracts/channel.ts";
import type { Fault } from "../../contracts/fault-proxy.ts";
import { failureOf } from "../../contracts/harness.ts";
import { createSignal, toDriverError, wasDelivered } from "./channel.ts";

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

  test("an account that the daemon does not have is a permanent error", async () => {
    const daemon = await startSignal();
    const channel = createSignal({ ...daemon, account: "+15550000000" });
    const message = { to: daemon.recipients.number, text: "Hello.", idempotencyKey: "1" };
    expect(await failureOf(channel.send(message, never))).toMatchObject({
      retryable: false,
      message: "signal-cli refused the message: -32602. Check channels.signal.account.",
    });
    await daemon.close();
  });

  test("a reply has styles beside its text, which a place in it names", async () => {
    const daemon = await startSignal();
    const channel = createSignal(daemon);
    const text = "# Disk 👩‍👩‍👧\n\n**full, *very*** ~~no~~ \uE000 `df` @everyone";
    await channel.send({ to: daemon.recipients.number, text, format: "markdown", idempotencyKey: "1" }, never);
    const [message] = daemon.messages();
    expect(message?.text).toBe("Disk 👩‍👩‍👧\n\nfull, very no  df @\u200Beveryone");
    const shown = message?.textStyle?.map((style) => {
      const [start = 0, length = 0] = style.split(":").map(Number);
      return [message.text.slice(start, start + length), style.split(":")[2]];
    });
    expect(shown).toEqual([
      ["Disk 👩‍👩‍👧", "BOLD"],
      ["full, ", "BOLD"],
      ["very", "BOLD"],
      ["very", "ITALIC"],
      ["no", "STRIKETHROUGH"],
      ["df", "MONOSPACE"],
    ]);
    expect(await channel.measureMarkdown?.("**ü**")).toBe(2);
    await daemon.close();
  });

  test("measures bytes", () => {
    expect(createSignal({}).measure?.("ü😀")).toBe(6);
  });
});

async function open(): Promise<RemoteChannelUnderTest> {
  const daemon = await startSignal();
  const { url, ...faultable } = await openFaultServer(daemon, daemon.baseUrl);
  return {
    ...faultable,
    channel: createSignal({ ...daemon, baseUrl: url }),
    to: daemon.recipients.number,
    unknown: "+15550000000",
    malformed: ["", " ", "15551234567", "+", "ada", "u:ada", "group:", "group:abc=", "#general"],
    received: async () => daemon.messages().map(({ text }) => text),
    faults: {
      rateLimited: refusal(-5, [{ type: "RATE_LIMIT_FAILURE", retryAfterSeconds: 7 }]),
      retryAfterMs: 7000,
      refusedForGood: refusal(-4, [{ type: "IDENTITY_FAILURE" }]),
      brokenDown: refusal(-32_603),
    },
  };
}

function refusal(code: number, results?: Record<string, unknown>[]): Fault {
  return { kind: "answer", status: 200, body: JSON.stringify(signalError(code, results).body) };
}

test.each([
  [-1, false],
  [-3, true],
  [-4, false],
  [-5, true],
  [-6, false],
  [-32_600, false],
  [-32_602, false],
  [-32_603, true],
])("code %i: retryable is %s", (code, retryable) => {
  expect(toDriverError({ code, data: null }).retryable).toBe(retryable);
});

test.each([
  ["NETWORK_FAILURE", true],
  ["RATE_LIMIT_FAILURE", true],
  ["UNREGISTERED_FAILURE", false],
  ["IDENTITY_FAILURE", false],
  ["INVALID_PRE_KEY_FAILURE", false],
])("result %s: retryable is %s", (type, retryable) => {
  const error = toDriverError({ code: -1, data: failed({ type }) });
  expect(error.retryable).toBe(retryable);
  expect(error.message).toContain(`signal-cli refused the message: ${type}.`);
});

test("the longest wait of all recipients is used", () => {
  const waits = [1, 30, 2].map((retryAfterSeconds) => ({ type: "RATE_LIMIT_FAILURE", retryAfterSeconds }));
  expect(toDriverError({ code: -5, data: failed(...waits) }).retryAfterMs).toBe(30_000);
  expect(toDriverError({ code: -5, data: null }).retryAfterMs).toBeUndefined();
});

test("the error does not show the daemon's message, which may contain the recipient", () => {
  const message = "The user +15551234567 is not registered.";
  expect(toDriverError({ code: -1, message, data: null }).message).not.toContain("+1555");
});

test("a message that some of a group received was delivered", () => {
  expect(wasDelivered({ timestamp: 1 })).toBe(true);
  expect(wasDelivered({ results: [{ type: "SUCCESS" }, { type: "NETWORK_FAILURE" }] })).toBe(true);
  expect(wasDelivered({ results: [{ type: "NETWORK_FAILURE" }] })).toBe(false);
});

function failed(...results: Record<string, unknown>[]) {
  return { response: { timestamp: 1, results } };
}

const LIMITED = { results: [{ type: "RATE_LIMIT_FAILURE", retryAfterSeconds: 3600 }] };

describeRefusals("signal-cli", {
  uses: { "a message": { call: (baseUrl) => sendAt(baseUrl) } },
  limits: {
    "of Signal": {
      status: 200,
      body: { jsonrpc: "2.0", error: { code: -5, data: { response: LIMITED } } },
      retryAfterMs: 3_600_000,
    },
    "of a proxy": { status: 429, headers: { "retry-after": "2" }, body: {}, retryAfterMs: 2000 },
  },
});

function sendAt(baseUrl: string, more: object = {}): Promise<unknown> {
  return createSignal({ baseUrl }).send(
    { to: "+15551234567", text: "Hello.", idempotencyKey: "d:0", ...more },
    AbortSignal.timeout(600_000),
  );
}
