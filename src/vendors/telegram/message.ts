import type { PersonMessage, VerifiedEvent } from "../../core/ports/vendor.ts";
import { toObject } from "../../core/shared/json.ts";
import { hasOnly, isNumber, isText } from "../kit/message.ts";

/** The fields of a message as a person types it. Forwards, quotes, edits, bots, anonymous and absent authors each have a field. https://core.telegram.org/bots/api#message */
const FIELDS: ReadonlySet<string> = new Set(
  "message_id message_thread_id is_topic_message from chat date text reply_to_message sender_tag sender_boost_count has_protected_content effect_id".split(
    " ",
  ),
);

/** A new message in a chat or a topic. */
export function readMessage({ payload }: VerifiedEvent): PersonMessage | undefined {
  const { message: written, ...update } = payload;
  const message = toObject(written);
  if (Object.keys(update).some((key) => key !== "update_id") || !hasOnly(message, FIELDS)) return undefined;
  const { from, chat, text, message_id: id, message_thread_id: topic, is_topic_message: isTopic, date } = message;
  const { id: person, is_bot: isBot } = toObject(from);
  const chatId = toObject(chat)["id"];
  if (isBot !== false || !isNumber(person) || !isNumber(chatId) || !isNumber(id) || !isText(text)) return undefined;
  const to = isTopic === true && isNumber(topic) ? `${chatId}/${topic}` : `${chatId}`;
  return { text, person: `${person}`, to, at: isNumber(date) ? date : Number.NaN, messageId: `${chatId}:${id}` };
}
