import { describe, expect, test } from "vitest";
import { discordError, startDiscord } from "../../../test/support/discord.ts";
import { describeRefusals } from "../../../test/support/vendors/refusals.ts";
import { openFaultServer } from "../../../test/support/fault-server.ts";
import { describeRemoteChannel, type RemoteChannelUnderTest } from "../../contracts/channel.ts";
import { type Fault, startFaultProxy } from "../../contracts/fault-proxy.ts";
import { failureOf } from "../../contracts/harness.ts";
import type { DriverError } from "../../core/errors.ts";
import { createDiscord, explain } from "./channel.ts";
import { toRefusal } from "../kit/http.ts";

describeRemoteChannel({ describe, test }, "discord", open);

describe("discord", () => {
  const never = new AbortController().signal;

  test("sends no mentions and no previews, and the token only in a header", async () => {
    const discord = await startDiscord();
    const proxy = await startFaultProxy(discord.baseUrl);
    const channel = createDiscord({ token: discord.token, baseUrl: `${proxy.url}/` });
    await channel.send({ to: discord.channel, text: "@everyone", idempotencyKey: "1" }, never);
    const [request] = proxy.requests;
    expect(request?.headers["authorization"]).toBe(`Bot ${discord.token}`);
    expect(request?.body).not.toContain(discord.token);
    expect(JSON.parse(request?.body ?? "")).toMatchObject({ allowed_mentions: { parse: [] }, flags: 4 });
    await proxy.close();
    await discord.close();
  });

  test("a repeated message is posted once", async () => {
    const discord = await startDiscord();
    const channel = createDiscord(discord);
    const message = { to: discord.channel, text: "Hello.", idempotencyKey: "delivery-1:0" };
    expect(await channel.send(message, never)).toEqual(await channel.send(message, never));
    await channel.send({ ...message, idempotencyKey: "delivery-1:1" }, never);
    expect(discord.messages()).toEqual(["Hello.", "Hello."]);
    await discord.close();
  });

  test("answers a message, shows typing, and posts anew if the message to edit is gone", async () => {
    const discord = await startDiscord();
    const channel = createDiscord(discord);
    const to = `${discord.channel}:${discord.question}`;
    const stop = await channel.startWorking?.(to, never);
    await channel.send({ to, text: "Hello.", idempotencyKey: "1", replaces: "334384849860007777" }, never);
    await stop?.();
    expect(discord.messages()).toEqual(["Hello."]);
    expect(discord.answered()).toEqual([discord.question]);
    expect(discord.typingCount()).toBe(1);
    await discord.close();
  });

  test("does not wait after a rate limit, since the caller does", async () => {
    const discord = await startDiscord();
    const proxy = await startFaultProxy(discord.baseUrl);
    const channel = createDiscord({ token: discord.token, baseUrl: proxy.url });
    const message = { to: discord.channel, text: "Hello.", idempotencyKey: "1" };
    proxy.inject(RATE_LIMITED);
    await failureOf(channel.send(message, never));
    proxy.inject();
    await channel.send(message, never);
    expect(discord.messages()).toEqual(["Hello."]);
    await proxy.close();
    await discord.close();
  });
});

/** See https://docs.discord.com/developers/topics/rate-limits. */
const RATE_LIMITED: Fault = {
  kind: "answer",
  status: 429,
  headers: { "content-type": "application/json", "retry-after": "7", "x-ratelimit-scope": "user" },
  body: JSON.stringify({ message: "You are being rate limited.", retry_after: 7, global: false }),
};

async function open(): Promise<RemoteChannelUnderTest> {
  const discord = await startDiscord();
  const { url, ...faultable } = await openFaultServer(discord, discord.baseUrl);
  return {
    ...faultable,
    channel: createDiscord({ token: discord.token, baseUrl: url }),
    to: discord.channel,
    thread: `${discord.channel}:${discord.question}`,
    unknown: "175928847299117999",
    secret: discord.token,
    malformed: ["", " ", "#general", "@ada", "123", "<#175928847299117063>", "175928847299117063/x"],
    received: async () => discord.messages(),
    faults: {
      rateLimited: RATE_LIMITED,
      retryAfterMs: 7000,
      refusedForGood: refusal(403, 50_013, "Missing Permissions"),
      brokenDown: refusal(503, 0, "Service Unavailable"),
    },
  };
}

function refusal(status: number, code: number, message: string): Fault {
  const headers = { "content-type": "application/json" };
  return { kind: "answer", status, headers, body: JSON.stringify(discordError(status, code, message).body) };
}

test.each([
  [401, 0, "401: Unauthorized", false, "Check channels.discord.token."],
  [404, 10_003, "Unknown Channel", false, "Check the recipient: it is a channel's id, not a user's."],
  [403, 50_001, "Missing Access", false, "Let the bot see the channel."],
  [400, 50_035, "Invalid Form Body", false, ""],
  [408, 0, "Request Timeout", true, ""],
])("status %d with code %d", (...[status, code, reason, retryable, advice]) => {
  const message = `Discord answered ${status}: ${reason}. ${advice}`.trim();
  expect(refused(status, { code, message: reason })).toMatchObject({ retryable, message });
});

test("an answer that is not Discord's is retryable", async () => {
  const proxy = await startFaultProxy("http://127.0.0.1/");
  proxy.inject({ kind: "answer", status: 200, body: "<html>" });
  const channel = createDiscord({ token: "t", baseUrl: proxy.url });
  const message = { to: "175928847299117063", text: "Hello.", idempotencyKey: "1" };
  expect(await failureOf(channel.send(message, new AbortController().signal))).toMatchObject({
    retryable: true,
    message: "The answer of Discord could not be read.",
  });
  await proxy.close();
});

test.each([
  [{ retry_after: 1.337 }, { "retry-after": "2" }, 1337],
  [{}, { "retry-after": "60" }, 60_000],
  [{ message: "Slow down" }, {}, undefined],
])("a rate limit of %j with %j is %j ms", (body, headers, retryAfterMs) => {
  expect(refused(429, body, headers)).toMatchObject({ retryable: true, retryAfterMs });
});

function refused(status: number, body: Record<string, unknown>, headers: object = {}): DriverError {
  const answer = { status, body, headers: new Headers(Object.entries(headers)) };
  return toRefusal("Discord", answer, explain(answer));
}

describeRefusals("Discord", {
  uses: {
    "a message": { call: (baseUrl) => sendAt(baseUrl) },
    "an edited message": { call: (baseUrl) => sendAt(baseUrl, { replaces: "334384849860007777" }) },
    "a removed message": {
      call: async (baseUrl) =>
        createDiscord({ token: "t", baseUrl }).remove?.(PLACE, "334384849860007777", AbortSignal.timeout(600_000)),
      expected: [404],
    },
    "a typing notice": {
      call: async (baseUrl) =>
        createDiscord({ token: "t", baseUrl }).startWorking?.(PLACE, AbortSignal.timeout(600_000)),
    },
  },
  limits: {
    "in its body": { status: 429, body: { message: "Limited.", retry_after: 7.5 }, retryAfterMs: 7500 },
    "of a proxy": { status: 429, headers: { "retry-after": "2" }, body: {}, retryAfterMs: 2000 },
  },
});

const PLACE = "175928847299117063";

function sendAt(baseUrl: string, more: object = {}): Promise<unknown> {
  return createDiscord({ token: "t", baseUrl }).send(
    { to: "175928847299117063", text: "Hello.", idempotencyKey: "d:0", ...more },
    AbortSignal.timeout(600_000),
  );
}
