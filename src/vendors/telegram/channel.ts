import type { FromSchema } from "json-schema-to-ts";
import type { ChannelDefinition } from "../../core/ports/driver.ts";
import { HTTP_URL, NON_BLANK, toObject, objectSchema } from "../../core/shared/json.ts";
import type { Button, ChannelDriver } from "../../core/ports/channel.ts";
import { toMarked } from "../kit/button.ts";
import { type Call, type HttpAnswer, isSuccess, keepTyping, recipientCheck, requireId } from "../kit/http.ts";
import { createTelegramApi, toMessageError } from "./client.ts";
import { createOpenFile } from "../kit/files.ts";
import { TELEGRAM } from "../kit/text/dialects.ts";
import { measureAs, renderMarkdown } from "../kit/text/markdown.ts";

const schema = objectSchema(["token"], {
  token: { ...NON_BLANK, description: "Bot token, from @BotFather." },
  baseUrl: {
    ...HTTP_URL,
    description: "For tests and your own Bot API server. Default: https://api.telegram.org.",
  },
});

type TelegramOptions = FromSchema<typeof schema>;

export const telegram: ChannelDefinition<TelegramOptions> = {
  schema,
  create: createTelegram,
  about: {
    to: "chat id; with `/7` a topic, with `:45` an answer to a message",
    afterCrash: "may come twice",
    testedAgainst: "the npm package `telegram-test-api`",
  },
};

const FILE_PATH = /^(?!.*\.\.)[\w.-]+(?:\/[\w.-]+)*$/;

/** Telegram shows a typing notice for five seconds. */
const TYPING_MS = 4500;

/**
 * Sends as a Telegram bot. Telegram has no idempotency keys, so a message whose answer was lost may arrive twice. An @name
 * in a text cannot be disabled.
 */
export function createTelegram(options: TelegramOptions): ChannelDriver {
  const open = createTelegramApi(options);
  return {
    name: "telegram",
    openFile: createOpenFile({
      service: "Telegram",
      authorize: open.authorize,
      async locate({ id }, { baseUrl, signal }) {
        const { body } = await (await open(signal))("POST", "/getFile", { file_id: id });
        const { file_path: path } = toObject(body["result"]);
        // The path of the API is `/bot<token>`.
        return `${baseUrl.replace(/\/bot(?=[^/]*$)/, "/file/bot")}/${requireId(path, "Telegram", FILE_PATH)}`;
      },
    }),
    limit: 4096,
    measureMarkdown: measureAs(TELEGRAM),
    // A chat's number, or the public name of a group or channel.
    checkRecipient: recipientCheck(
      /^(-?\d{1,19}|@\w{2,64})(?:\/\d{1,10})?(?::\d{1,10})?$/,
      "a Telegram chat id such as 123456789 or -1001234567890, or a public @name; with /7 a topic, and with :45 an answer " +
        "to a message",
    ),
    addressOf: (to) => parseRecipient(to).chat,
    // A topic is a place in which several threads can be.
    isThread: (to) => parseRecipient(to).message !== undefined,
    canUpdate: true,
    buttons: {},
    async send({ to, text, format, replaces, thread, buttons }, signal) {
      const call = await open(signal);
      const content = {
        text: format === "markdown" ? await renderMarkdown(text, TELEGRAM) : text,
        // Without `parse_mode` the text is plain.
        ...(format === "markdown" && { parse_mode: "HTML" }),
        // A preview would fetch an untrusted link and show what it says.
        link_preview_options: { is_disabled: true },
        ...(buttons && { reply_markup: { inline_keyboard: buttons.length > 0 ? [buttons.map(toKey)] : [] } }),
      };
      const { chat, topic, message } = parseRecipient(thread?.to ?? to);
      const toThread = (first: string): string => `${chat}${topic ? `/${topic}` : ""}:${parseRecipient(first).message}`;
      if (replaces && (await edit(replaces, content, call)))
        return { messageId: replaces, ...(thread && { thread: thread.to ?? toThread(replaces) }) };
      const post = { chat_id: chat, ...content, ...(topic && { message_thread_id: Number(topic) }) };
      // Without its first message, the thread is gone. An answer to somebody is sent all the same.
      const reply = message && { message_id: Number(message), allow_sending_without_reply: !thread };
      const accepted = thread?.to === undefined ? [] : [400];
      const replying = { ...post, ...(reply && { reply_parameters: reply }) };
      const answer = await call("POST", "/sendMessage", replying, accepted);
      if (!isSuccess(answer) && !isThreadGone(answer)) throw toMessageError(answer);
      const { body } = isSuccess(answer) ? answer : await call("POST", "/sendMessage", post);
      const sent = toObject(body["result"]);
      const chatId = requireId(toObject(sent["chat"])["id"], "Telegram");
      const messageId = `${chatId}:${requireId(sent["message_id"], "Telegram")}`;
      const isInThread = thread?.to !== undefined && isSuccess(answer);
      return { messageId, ...(thread && { thread: isInThread ? thread.to : toThread(messageId) }) };
    },
    async remove(_, messageId, signal) {
      const { chat, message } = parseRecipient(messageId);
      const call = await open(signal);
      await call("POST", "/deleteMessage", { chat_id: chat, message_id: Number(message) }, [400]);
    },
    startWorking(to, signal) {
      const { chat, topic } = parseRecipient(to);
      const body = { chat_id: chat, action: "typing", ...(topic && { message_thread_id: Number(topic) }) };
      return keepTyping(open, { path: "/sendChatAction", body, everyMs: TYPING_MS }, signal);
    },
  };
}

/** `chat`, `chat/topic`, `chat:message` or `chat/topic:message`. */
function parseRecipient(to: string): { chat: string; topic?: string; message?: string } {
  const [, chat = to, topic, message] = /^([^/:]+)(?:\/(\d+))?(?::(\d+))?$/.exec(to) ?? [];
  return { chat, topic, message };
}

function toKey({ label, value }: Button): object {
  return { text: label, callback_data: toMarked(value) };
}

function isThreadGone({ body }: HttpAnswer): boolean {
  return /repl(?:y|ied)\b.*not found/i.test(String(body["description"]));
}

/** False if the message is gone or too old. A text that is there already counts as edited. */
async function edit(messageId: string, content: object, call: Call): Promise<boolean> {
  const { chat, message } = parseRecipient(messageId);
  const edited = { chat_id: chat, message_id: Number(message), ...content };
  const answer = await call("POST", "/editMessageText", edited, [400]);
  if (isSuccess(answer)) return true;
  const description = String(answer.body["description"]);
  if (description.includes("message is not modified")) return true;
  if (/message to edit not found|message can't be edited/.test(description)) return false;
  throw toMessageError(answer);
}
