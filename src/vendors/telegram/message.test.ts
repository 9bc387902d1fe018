import { expect, test } from "vitest";
import { readMessage } from "./message.ts";

type Fields = Record<string, unknown>;

const MESSAGE: Fields = {
  message_id: 12,
  from: { id: 222, is_bot: false, first_name: "Ben" },
  chat: { id: -1001234567890, title: "Ops", type: "supergroup" },
  date: 1767603600,
  text: "approve 7f3k",
};

function read(message: Fields = {}, kind = "message") {
  return readMessage({
    payload: { update_id: 1, [kind]: { ...MESSAGE, ...message } },
    headers: {},
  });
}

test("a message in a chat, and in a topic", () => {
  const message = {
    text: "approve 7f3k",
    person: "222",
    to: "-1001234567890",
    at: 1767603600,
    messageId: "-1001234567890:12",
  };
  expect(read()).toEqual(message);
  const inTopic = { message_thread_id: 5, is_topic_message: true, reply_to_message: { message_id: 3 } };
  expect(read(inTopic)).toEqual({ ...message, to: "-1001234567890/5" });
});

test.each([
  ["a bot", { from: { id: 222, is_bot: true } }],
  ["through a bot", { via_bot: { id: 9, is_bot: true } }],
  ["a business bot", { sender_business_bot: { id: 9 } }],
  ["a business account", { business_connection_id: "b" }],
  ["an edit", { edit_date: 1767603601 }],
  ["a forward", { forward_origin: { type: "user" } }],
  ["an old form of a forward", { forward_date: 1 }],
  ["a quote", { quote: { text: "approve 7f3k" } }],
  ["an answer to another chat", { external_reply: {} }],
  ["an anonymous administrator", { sender_chat: { id: -1001234567890 } }],
  ["a scheduled message", { is_from_offline: true }],
  ["a guest", { guest_query_id: "g" }],
  ["a caption", { text: undefined, caption: "approve 7f3k", photo: [] }],
])("%s is no message of a person", (_, message) => expect(read(message)).toBeUndefined());

test.each(["edited_message", "channel_post", "business_message", "guest_message"])(
  "%s is no message of a person",
  (kind) => expect(read({}, kind)).toBeUndefined(),
);
