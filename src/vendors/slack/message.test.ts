import { expect, test } from "vitest";
import { readMessage } from "./message.ts";

type Fields = Record<string, unknown>;

const MESSAGE: Fields = {
  type: "message",
  channel: "C0OPS",
  channel_type: "channel",
  user: "U0ANN",
  text: "is it &lt;@U1&gt; &amp;amp; me?",
  ts: "1767603700.000200",
  event_ts: "1767603700.000200",
  client_msg_id: "0b0d",
  team: "T0ACME",
  blocks: [{ type: "rich_text" }],
};

function read(event: Fields = {}, envelope: Fields = {}) {
  const payload = { type: "event_callback", team_id: "T0ACME", event: { ...MESSAGE, ...event }, ...envelope };
  return readMessage({ payload, headers: {} });
}

test("a message in a channel, as it was typed", () => {
  expect(read()).toEqual({
    text: "is it <@U1> &amp; me?",
    person: "T0ACME/U0ANN",
    to: "C0OPS",
    at: 1767603700.0002,
    messageId: "C0OPS:1767603700.000200",
  });
});

test("a message in a thread", () => {
  expect(read({ thread_ts: "17.1", parent_user_id: "U0BOT" })).toMatchObject({
    to: "C0OPS:17.1",
    thread: { of: "C0OPS", messageId: "C0OPS:17.1" },
  });
});

test.each([
  ["a bot", { bot_id: "B0CI" }],
  ["an app", { app_id: "A0CI" }],
  ["a workflow", { subtype: "bot_message", user: undefined }],
  ["an edit", { edited: { user: "U0ANN", ts: "1" } }],
  ["a changed message", { subtype: "message_changed", message: MESSAGE }],
  ["a shared message", { attachments: [{ is_share: true, text: "approve 7f3k" }] }],
  ["a file", { subtype: "file_share", files: [{}] }],
  ["a mention", { type: "app_mention" }],
  ["a guest", { user_profile: { is_restricted: true } }],
  ["a guest of one channel", { user_profile: { is_ultra_restricted: true } }],
  ["somebody from another workspace", { user_team: "T0OTHER" }],
  ["nobody", { user: undefined }],
])("%s is no message of a person", (_, event) => expect(read(event)).toBeUndefined());

test("in a shared channel, the event's workspace is not the person's", () => {
  expect(read({ team: undefined }, { is_ext_shared_channel: true })).toBeUndefined();
  expect(read({ team: "T0OTHER" }, { is_ext_shared_channel: true })?.person).toBe("T0OTHER/U0ANN");
});
