import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { mattermostError, startMattermost } from "../../../test/support/mattermost.ts";
import { describeRefusals } from "../../../test/support/vendors/refusals.ts";
import { openFaultServer } from "../../../test/support/fault-server.ts";
import { describeRemoteChannel, type RemoteChannelUnderTest } from "../../contracts/channel.ts";
import { type Fault, startFaultProxy } from "../../contracts/fault-proxy.ts";
import { failureOf } from "../../contracts/harness.ts";
import { createMattermost } from "./channel.ts";

describeRemoteChannel({ describe, test }, "mattermost", open);

describe("mattermost", () => {
  const never = new AbortController().signal;

  test("sends the token only in a header; the base URL may have a path and no final slash", async () => {
    const mattermost = await startMattermost();
    const proxy = await startFaultProxy(mattermost.baseUrl);
    proxy.inject({ kind: "answer", status: 201, body: '{"id":"p1"}' });
    const channel = createMattermost({ token: mattermost.token, baseUrl: `${proxy.url}chat` });
    await channel.send({ to: mattermost.channel, text: "Hello.", idempotencyKey: "1" }, never);
    const [request] = proxy.requests;
    expect(request?.path).toBe("/chat/api/v4/posts");
    expect(request?.headers["authorization"]).toBe(`Bearer ${mattermost.token}`);
    expect(request?.body).not.toContain(mattermost.token);
    await proxy.close();
    await mattermost.close();
  });

  test("a repeated message is posted once", async () => {
    const mattermost = await startMattermost();
    const channel = createMattermost(mattermost);
    const message = { to: mattermost.channel, text: "Hello.", idempotencyKey: "delivery-1:0" };
    expect(await channel.send(message, never)).toEqual(await channel.send(message, never));
    await channel.send({ ...message, idempotencyKey: "delivery-1:1" }, never);
    expect(mattermost.messages()).toEqual(["Hello.", "Hello."]);
    await mattermost.close();
  });

  test("posts to a thread, shows typing, and posts anew if the post to edit is gone", async () => {
    const mattermost = await startMattermost();
    const channel = createMattermost(mattermost);
    const to = `${mattermost.channel}:${mattermost.root}`;
    const stop = await channel.startWorking?.(to, never);
    await channel.send({ to, text: "Hello.", idempotencyKey: "1", replaces: "gone".padEnd(26, "0") }, never);
    await stop?.();
    expect(mattermost.messages()).toEqual(["Hello."]);
    expect(mattermost.roots()).toEqual([mattermost.root]);
    expect(mattermost.typingCount()).toBe(1);
    await mattermost.close();
  });

  test("answers a reply in the thread that it is in", async () => {
    const mattermost = await startMattermost();
    const channel = createMattermost(mattermost);
    const to = `${mattermost.channel}:${mattermost.reply}`;
    await channel.send({ to, text: "Then came the rain.", idempotencyKey: "1" }, never);
    expect(mattermost.roots()).toEqual([mattermost.root]);
    await mattermost.close();
  });

  test("the error shows what the server says, and not the token", async () => {
    const mattermost = await startMattermost();
    const channel = createMattermost({ ...mattermost, token: "mm-secret" });
    const error = await failureOf(channel.send({ to: mattermost.channel, text: "Hello.", idempotencyKey: "1" }, never));
    expect(error).toMatchObject({
      retryable: false,
      message: "Mattermost answered 401: Invalid or expired session. Check channels.mattermost.token.",
    });
    expect(inspect(error, { depth: null })).not.toContain("mm-secret");
    await mattermost.close();
  });

  test("measures code points", () => {
    const { measure } = createMattermost({ token: "t", baseUrl: "http://chat.test" });
    expect(measure?.("a😀")).toBe(2);
  });
});

async function open(): Promise<RemoteChannelUnderTest> {
  const mattermost = await startMattermost();
  const { url, ...faultable } = await openFaultServer(mattermost, mattermost.baseUrl);
  return {
    ...faultable,
    channel: createMattermost({ token: mattermost.token, baseUrl: url }),
    to: mattermost.channel,
    thread: `${mattermost.channel}:${mattermost.root}`,
    unknown: "w5nk3xgpq9t8mrzc1yb7of4ude",
    malformed: ["", " ", "#general", "@ada", "4yfx3k5b7tgpxq9ncmwz1d8or", "4yfx3k5b7tgpxq9ncmwz1d8or/"],
    received: async () => mattermost.messages(),
    faults: {
      rateLimited: {
        kind: "answer",
        status: 429,
        headers: { "retry-after": "7", "x-ratelimit-remaining": "0" },
        body: "limit exceeded",
      },
      retryAfterMs: 7000,
      refusedForGood: refusal(403, "api.context.permissions.app_error"),
      brokenDown: refusal(500, "store.sql_post.save.app_error"),
    },
  };
}

function refusal(status: number, id: string): Fault {
  const { body } = mattermostError(status, id, "It did not work.");
  return { kind: "answer", status, body: JSON.stringify(body) };
}

describeRefusals("Mattermost", {
  uses: {
    "a post": { call: (baseUrl) => sendAt(baseUrl) },
    "a post in a thread": { call: (baseUrl) => sendAt(baseUrl, { to: `${PLACE}:${PLACE}` }) },
    "an edited post": { call: (baseUrl) => sendAt(baseUrl, { replaces: PLACE }) },
    "a removed post": {
      call: async (baseUrl) =>
        createMattermost({ token: "t", baseUrl }).remove?.(PLACE, PLACE, AbortSignal.timeout(600_000)),
      expected: [404],
    },
    "a typing notice": {
      call: async (baseUrl) =>
        createMattermost({ token: "t", baseUrl }).startWorking?.(PLACE, AbortSignal.timeout(600_000)),
    },
  },
  limits: {
    "with a time": { status: 429, headers: { "retry-after": "2" }, text: "limit exceeded", retryAfterMs: 2000 },
  },
});

const PLACE = "abcdefghijklmnopqrstuvwxyz";

function sendAt(baseUrl: string, more: object = {}): Promise<unknown> {
  return createMattermost({ token: "t", baseUrl }).send(
    { to: "abcdefghijklmnopqrstuvwxyz", text: "Hello.", idempotencyKey: "d:0", ...more },
    AbortSignal.timeout(600_000),
  );
}
