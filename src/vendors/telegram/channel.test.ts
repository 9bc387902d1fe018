import { describe, expect, test } from "vitest";
import { startTelegram } from "../../../test/support/telegram.ts";
import { openFaultServer } from "../../../test/support/fault-server.ts";
import { describeRemoteChannel, type RemoteChannelUnderTest } from "../../contracts/channel.ts";
import { type Fault, startFaultProxy } from "../../contracts/fault-proxy.ts";
import { failureOf } from "../../contracts/harness.ts";
import type { DriverError } from "../../core/errors.ts";
import { createTelegram } from "./channel.ts";
import { toMessageError } from "./client.ts";

describeRemoteChannel({ describe, test }, "telegram", open);

describe("telegram", () => {
  const never = new AbortController().signal;

  test.each(["123456789", "-1001234567890", "-5", "@hookline_news", "-1001/7", "@news:45", "5/7:45"])(
    "%s is a recipient",
    (to) => {
      expect(() => createTelegram({ token: "t" }).checkRecipient(to)).not.toThrow();
    },
  );

  test("sends plain text without previews; the base URL may end with a slash", async () => {
    const telegram = await startTelegram();
    const proxy = await startFaultProxy(telegram.baseUrl);
    const channel = createTelegram({ token: telegram.token, baseUrl: proxy.url });
    await channel.send({ to: telegram.chat, text: "Hello.", idempotencyKey: "1" }, never);
    const [request] = proxy.requests;
    expect(JSON.parse(request?.body ?? "")).toEqual({
      chat_id: telegram.chat,
      text: "Hello.",
      link_preview_options: { is_disabled: true },
    });
    await proxy.close();
    await telegram.close();
  });

  test("a thread in a topic whose first message is gone is followed by another", async () => {
    const telegram = await startTelegram();
    const proxy = await startFaultProxy(telegram.baseUrl);
    const channel = createTelegram({ token: telegram.token, baseUrl: proxy.url });
    const message = { to: `${telegram.chat}/7`, text: "Incident.", idempotencyKey: "1", thread: {} };
    const { thread = "", messageId = "" } = await channel.send(message, never);
    expect(thread).toBe(`${telegram.chat}/7:${messageId.split(":")[1]}`);
    const description = "Bad Request: message to be replied not found";
    const body = JSON.stringify({ ok: false, error_code: 400, description });
    const headers = { "content-type": "application/json" };
    proxy.inject({ kind: "answer", status: 400, headers, body }, "reply_parameters");
    const next = await channel.send({ ...message, text: "Anew.", thread: { to: thread } }, never);
    expect(next.thread).toBe(`${telegram.chat}/7:${next.messageId?.split(":")[1]}`);
    expect(telegram.messages()).toEqual(["Incident.", "Anew."]);
    await proxy.close();
    await telegram.close();
  });

  test("answers a message in a topic, as HTML", async () => {
    const telegram = await startTelegram();
    const proxy = await startFaultProxy(telegram.baseUrl);
    const channel = createTelegram({ token: telegram.token, baseUrl: proxy.url });
    const message = {
      to: `${telegram.chat}/7:45`,
      text: "**a** <b>",
      format: "markdown",
      idempotencyKey: "1",
    } as const;
    await channel.send(message, never);
    expect(JSON.parse(proxy.requests[0]?.body ?? "")).toEqual({
      chat_id: telegram.chat,
      text: "<b>a</b> &lt;b&gt;",
      parse_mode: "HTML",
      link_preview_options: { is_disabled: true },
      message_thread_id: 7,
      reply_parameters: { message_id: 45, allow_sending_without_reply: true },
    });
    await proxy.close();
    await telegram.close();
  });

  test("shows typing in the topic", async () => {
    const proxy = await startFaultProxy("http://127.0.0.1/");
    proxy.inject({ kind: "answer", status: 200, body: '{"ok":true,"result":true}' });
    const stop = await createTelegram({ token: "t", baseUrl: proxy.url }).startWorking?.("5/7:45", never);
    await stop?.();
    expect(proxy.requests).toMatchObject([{ path: "/bott/sendChatAction" }]);
    expect(JSON.parse(proxy.requests[0]?.body ?? "")).toEqual({ chat_id: "5", action: "typing", message_thread_id: 7 });
    await proxy.close();
  });

  test.each([
    ["Bad Request: message is not modified", "1:2"],
    ["Bad Request: message to edit not found", "-1001234567890:1"],
  ])("an edit that is answered with %s", async (description, messageId) => {
    const telegram = await startTelegram();
    const proxy = await startFaultProxy(telegram.baseUrl);
    proxy.inject(refusal(400, description), "message_id");
    const channel = createTelegram({ token: telegram.token, baseUrl: proxy.url });
    const message = { to: telegram.chat, text: "Hello.", replaces: "1:2", idempotencyKey: "1" };
    expect(await channel.send(message, never)).toEqual({ messageId });
    await proxy.close();
    await telegram.close();
  });
});

async function open(): Promise<RemoteChannelUnderTest> {
  const telegram = await startTelegram();
  const { url, ...faultable } = await openFaultServer(telegram, telegram.baseUrl);
  const unknown = "404404404";
  // The emulator has every chat, so this answer is written from the documentation.
  faultable.inject(refusal(400, "Bad Request: chat not found"), unknown);
  return {
    ...faultable,
    // The emulator has no typing notices.
    channel: { ...createTelegram({ token: telegram.token, baseUrl: url }), startWorking: undefined },
    to: telegram.chat,
    thread: `${telegram.chat}/7:45`,
    unknown,
    secret: telegram.token,
    malformed: ["", " ", "@", "-", "+15551234567", "1 2", "@two words", "name", "https://t.me/name"],
    received: async () => telegram.messages(),
    faults: {
      rateLimited: refusal(429, "Too Many Requests: retry after 7", { retry_after: 7 }),
      retryAfterMs: 7000,
      refusedForGood: refusal(403, "Forbidden: bot was blocked by the user"),
      brokenDown: refusal(500, "Internal Server Error"),
    },
  };
}

/** See https://core.telegram.org/bots/api#making-requests. */
function refusal(code: number, description: string, parameters?: { retry_after: number }): Fault {
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ ok: false, error_code: code, description, parameters });
  return { kind: "answer", status: code, headers, body };
}

test.each([
  [400, false, "Check the recipient, and that the bot is in the chat."],
  [401, false, "Check channels.telegram.token."],
  [403, false, "The recipient has to start the bot, or let it into the chat."],
  [404, false, "Check channels.telegram.token and channels.telegram.baseUrl."],
  [429, true, ""],
  [502, true, ""],
])("status %d: retryable is %s", (status, retryable, advice) => {
  const message = `Telegram answered ${status}: What Telegram says. ${advice}`.trim();
  expect(refused(status, { description: "What Telegram says" })).toMatchObject({
    retryable,
    message,
    retryAfterMs: undefined,
  });
});

test("the error of a group that became a supergroup shows the new id", () => {
  const body = {
    description: "Bad Request: group chat was upgraded to a supergroup chat",
    parameters: { migrate_to_chat_id: -1009876543210 },
  };
  expect(refused(400, body).message).toMatch(/The chat has a new id: -1009876543210\.$/);
});

test("an answer that is not Telegram's is retryable", async () => {
  const proxy = await startFaultProxy("http://127.0.0.1/");
  proxy.inject({ kind: "answer", status: 200, body: "<html>" });
  const channel = createTelegram({ token: "t", baseUrl: proxy.url });
  const sending = channel.send({ to: "5", text: "Hello.", idempotencyKey: "1" }, new AbortController().signal);
  const message = "The answer of Telegram could not be read.";
  expect(await failureOf(sending)).toMatchObject({ retryable: true, message });
  await proxy.close();
});

function refused(status: number, body: Record<string, unknown>): DriverError {
  const answer = { status, body, headers: new Headers() };
  return toMessageError(answer);
}
