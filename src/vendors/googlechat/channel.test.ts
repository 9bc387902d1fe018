import { describe, expect, test } from "vitest";
import { CHAT_ACCOUNT, googlechatError, startGooglechat } from "../../../test/support/googlechat.ts";
import { describeRefusals } from "../../../test/support/vendors/refusals.ts";
import { openFaultServer } from "../../../test/support/fault-server.ts";
import { describeRemoteChannel, type RemoteChannelUnderTest } from "../../contracts/channel.ts";
import type { Fault } from "../../contracts/fault-proxy.ts";
import { failureOf } from "../../contracts/harness.ts";
import { createGooglechat } from "./channel.ts";

const never = new AbortController().signal;

describe("googlechat", () => {
  describeRemoteChannel({ describe, test }, "googlechat", open);

  async function open(): Promise<RemoteChannelUnderTest> {
    const chat = await startGooglechat();
    const { url, ...faultable } = await openFaultServer(chat, chat.block.baseUrl);
    return {
      ...faultable,
      channel: createGooglechat({ ...chat.block, baseUrl: url }),
      to: chat.space,
      unknown: "spaces/UNKNOWN",
      malformed: ["", " ", "spaces/", "spaces/a b", "AAAA", "spaces/A/../B", "spaces/A/threads/", "#general"],
      // People see no gaps.
      received: async () => chat.messages().map((text) => text.replaceAll("<\u200B", "<")),
      faults: {
        rateLimited: refusal(429, "RESOURCE_EXHAUSTED", { "retry-after": "7" }),
        retryAfterMs: 7000,
        refusedForGood: refusal(403, "PERMISSION_DENIED"),
        brokenDown: refusal(503, "UNAVAILABLE"),
      },
    };
  }

  function refusal(code: number, status: string, headers: Record<string, string> = {}): Fault {
    return { kind: "answer", status: code, headers, body: JSON.stringify(googlechatError(code, status).body) };
  }

  test("answers in a thread, and notifies nobody", async () => {
    const chat = await startGooglechat();
    const channel = createGooglechat(chat.block);
    const to = `${chat.space}/threads/t1`;
    await channel.send({ to, text: "<users/all> *x*", idempotencyKey: "1", format: "markdown" }, never);
    await channel.send({ to: chat.space, text: "<https://evil.example|here>", idempotencyKey: "2" }, never);
    expect(chat.messages().join()).not.toMatch(/<[uh]/);
    expect(chat.threads()).toEqual([{ name: to }, undefined]);
    await chat.close();
  });

  test("a key that is none is named, and not shown", async () => {
    const channel = createGooglechat({ ...CHAT_ACCOUNT, privateKey: "no key" });
    expect(await failureOf(channel.send({ to: "spaces/A", text: "Hello.", idempotencyKey: "1" }, never))).toMatchObject(
      { retryable: false, message: expect.stringMatching(/^channels\.googlechat\.privateKey is not a private key/) },
    );
  });

  test.each(["../../spaces/x", "spaces/../y", "a?b", "a/%2e%2e/b", "https://evil.example/"])(
    "%s is no file",
    async (id) => {
      const chat = await startGooglechat();
      const opened = createGooglechat(chat.block).openFile?.({ id }, chat.space, never);
      expect(await failureOf(opened!)).toMatchObject({ name: "DriverError" });
      await chat.close();
    },
  );
});

const TOKEN = { "/token": { access_token: "t", expires_in: 3600 } };

describeRefusals("Google Chat", {
  // The next attempt after a 401 gets a new token.
  uses: {
    "a message": { call: (baseUrl) => sendAt(baseUrl), before: TOKEN, expected: [401] },
    "an edited message": {
      call: (baseUrl) => sendAt(baseUrl, { replaces: "spaces/A/messages/1" }),
      before: TOKEN,
      expected: [401],
    },
    "a removed message": {
      call: async (baseUrl) => channelAt(baseUrl).remove?.("spaces/A", "spaces/A/messages/1", never),
      before: TOKEN,
      expected: [401, 404],
    },
  },
  limits: { "with a time": { status: 429, headers: { "retry-after": "2" }, body: {}, retryAfterMs: 2000 } },
  refusal: { error: { code: 400, message: "No.", status: "INVALID_ARGUMENT" } },
});

describeRefusals("Google's sign-in", {
  uses: { "a token": { call: (baseUrl) => sendAt(baseUrl) } },
  limits: { "with a time": { status: 429, headers: { "retry-after": "2" }, body: {}, retryAfterMs: 2000 } },
  refusal: { error: "No." },
});

function channelAt(baseUrl: string) {
  return createGooglechat({ ...CHAT_ACCOUNT, baseUrl, tokenUrl: `${baseUrl}token` });
}

function sendAt(baseUrl: string, more: object = {}): Promise<unknown> {
  return channelAt(baseUrl).send({ to: "spaces/A", text: "Hello.", idempotencyKey: "d:0", ...more }, never);
}
