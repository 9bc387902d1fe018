/** In a channel of Slack only what mentions the app asks, and what is in a thread in which it has spoken. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createChatMessages } from "./support/chat-messages.ts";
import { type Service, startService } from "./support/service.ts";
import { type SlackServer, startSlack } from "./support/vendors/slack.ts";

const SECRET = "the-signing-secret-of-the-app";

let slack: SlackServer;
let service: Service;
beforeAll(async () => {
  slack = await startSlack();
  const own = { secret: SECRET, channel: "source", wakeMode: "next-heartbeat" };
  service = await startService({
    config: {
      channels: { slack: { token: slack.token, baseUrl: slack.baseUrl } },
      hooks: { presets: [{ use: "slack", with: own }] },
    },
  });
});
afterAll(async () => {
  await service.close();
  await slack.close();
});

const chat = createChatMessages(
  () => service,
  () => ({ secret: SECRET, slackChannel: slack.channel, telegramChat: "-1", issue: "acme/app#1" }),
);

test("a message, a mention, and the thread below the answer", async () => {
  const reason = "it does not mention the agent";
  expect(await chat.inSlack({ text: "Lunch?" })).toMatchObject({ status: 204, reason });
  const ts = await slack.post("Look at this.");
  expect(await chat.inSlack({ text: "What is it?", thread_ts: ts })).toMatchObject({ reason });
  expect(
    (await chat.inSlack({ type: "app_mention", text: "<@U0AGENT> what is it?", thread_ts: ts })).reason,
  ).toBeUndefined();
  const [{ id }] = (await service.api("/api/events?limit=1")).events;
  await service.settled(id);
  expect((await chat.inSlack({ text: "And now?", thread_ts: ts })).reason).toBeUndefined();
  expect((await chat.inSlack({ channel_type: "im", text: "Hello" })).reason).toBeUndefined();
});
