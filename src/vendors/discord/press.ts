import type { ButtonPress, VerifiedEvent } from "../../core/ports/vendor.ts";
import { toObject } from "../../core/shared/json.ts";
import { readMarked } from "../kit/button.ts";
import { isText } from "../kit/message.ts";

const COMPONENT = 3;
/** Only the presser sees the message. */
const EPHEMERAL = 1 << 6;
const SHOW_MESSAGE = 4;
const SHOW_NOTHING = 6;

/** One of our buttons. https://docs.discord.com/developers/interactions/receiving-and-responding */
export function readPress({ payload }: VerifiedEvent): ButtonPress | undefined {
  const { type, data, member, user, message, channel_id: channel } = payload;
  const value = readMarked(toObject(data)["custom_id"]);
  if (type !== COMPONENT || value === undefined) return undefined;
  const person = toObject(toObject(member)["user"] ?? user)["id"];
  const messageId = toObject(message)["id"];
  if (!isText(person) || !isText(messageId) || !isText(channel)) return undefined;
  return {
    value,
    person,
    messageId,
    to: channel,
    answer: (text) => ({
      status: 200,
      body:
        text === undefined
          ? { type: SHOW_NOTHING }
          : { type: SHOW_MESSAGE, data: { content: text, flags: EPHEMERAL, allowed_mentions: { parse: [] } } },
    }),
  };
}
