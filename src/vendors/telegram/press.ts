import type { ButtonPress, VerifiedEvent } from "../../core/ports/vendor.ts";
import { toObject } from "../../core/shared/json.ts";
import { cutText } from "../../core/shared/text/text.ts";
import { readMarked } from "../kit/button.ts";
import { isNumber, isText } from "../kit/message.ts";

/** Telegram's limit for a notice. */
const MAX_TEXT = 200;

/** One of our buttons. The answer to the update is a call of the API. https://core.telegram.org/bots/api#callbackquery */
export function readPress({ payload }: VerifiedEvent): ButtonPress | undefined {
  const { id, from, message, data } = toObject(payload["callback_query"]);
  const value = readMarked(data);
  const { id: person, is_bot: isBot } = toObject(from);
  const { message_id: messageId, chat } = toObject(message);
  const { id: chatId } = toObject(chat);
  if (value === undefined || !isText(id) || isBot !== false) return undefined;
  if (!isNumber(person) || !isNumber(messageId) || !isNumber(chatId)) return undefined;
  return {
    value,
    person: `${person}`,
    messageId: `${chatId}:${messageId}`,
    to: `${chatId}`,
    answer: (text) => ({
      status: 200,
      body: {
        method: "answerCallbackQuery",
        callback_query_id: id,
        ...(text !== undefined && { text: cutText(text, MAX_TEXT), show_alert: true }),
      },
    }),
  };
}
