import type { FromSchema } from "json-schema-to-ts";
import { hash } from "node:crypto";
import type { ChannelDefinition } from "../../core/ports/driver.ts";
import { HTTP_URL, NON_BLANK, objectSchema } from "../../core/shared/json.ts";
import { cutText } from "../../core/shared/text/text.ts";
import type { Button, ChannelDriver } from "../../core/ports/channel.ts";
import { toMarked } from "../kit/button.ts";
import {
  type Call,
  createApi,
  type HttpAnswer,
  isSuccess,
  keepTyping,
  recipientCheck,
  type Refusal,
  requireId,
  splitRecipient,
  toRefusal,
} from "../kit/http.ts";
import { createOpenFile } from "../kit/files.ts";
import { MARKDOWN } from "../kit/text/dialects.ts";
import { measureAs, renderMarkdown } from "../kit/text/markdown.ts";

const schema = objectSchema(["token"], {
  token: { ...NON_BLANK, description: "Bot token." },
  baseUrl: {
    ...HTTP_URL,
    description: "For tests and proxies, without the version. Default: https://discord.com/api.",
  },
});

type DiscordOptions = FromSchema<typeof schema>;

export const discord: ChannelDefinition<DiscordOptions> = {
  schema,
  create: createDiscord,
  about: {
    to: "channel id; with `:` and a message id an answer to it",
    afterCrash: "once within a few minutes: Discord ignores the repeat",
    testedAgainst: "a double of the REST API",
  },
};

/** A Discord message flag: no previews of links. */
const SUPPRESS_EMBEDS = 1 << 2;

/** The form that Discord requires of a program's name. */
const USER_AGENT = "DiscordBot (https://www.npmjs.com/package/hookline, 1)";

/** Discord shows a typing notice for ten seconds. */
const TYPING_MS = 9000;

/** By status or by code: https://docs.discord.com/developers/topics/opcodes-and-status-codes#json. */
const ADVICE = new Map<unknown, string>([
  [401, "Check channels.discord.token."],
  [10_003, "Check the recipient: it is a channel's id, not a user's."],
  [50_001, "Let the bot see the channel."],
  [50_007, "The recipient accepts no messages from the bot."],
  [403, "Let the bot see the channel and send messages there."],
  [404, "Check the recipient."],
  [50_013, "Give the bot the permission to send messages in the channel."],
]);

/** Posts to Discord as a bot. Discord ignores a repeat that arrives within a few minutes. */
export function createDiscord({ token, baseUrl = "https://discord.com/api" }: DiscordOptions): ChannelDriver {
  const open = createApi({
    service: "Discord",
    baseUrl,
    root: "/v10/channels",
    token,
    headers: () => ({ authorization: `Bot ${token}`, "user-agent": USER_AGENT }),
    explain,
  });
  return {
    name: "discord",
    // Their addresses are signed.
    openFile: createOpenFile({
      service: "Discord",
      authorize: open.authorize,
      hosts: ["cdn.discordapp.com", "media.discordapp.net"],
    }),
    limit: 2000,
    measureMarkdown: measureAs(MARKDOWN),
    checkRecipient: recipientCheck(
      // A snowflake: milliseconds since 2015 and some bits, as a decimal number.
      /^\d{15,20}(?::\d{15,20})?$/,
      "the id of a Discord channel, a number such as 175928847299117063 (Developer Mode: Copy Channel ID); with : and the " +
        "id of a message, an answer to it",
    ),
    addressOf: (to) => splitRecipient(to).place,
    isThread: (to) => splitRecipient(to).message !== undefined,
    canUpdate: true,
    buttons: {},
    async send({ to, text, format, idempotencyKey, replaces, thread, buttons }, signal) {
      const { place: channel, message: repliedTo } = splitRecipient(to);
      const call = await open(signal);
      const content = {
        content: format === "markdown" ? await renderMarkdown(text, MARKDOWN) : text,
        // The text of a reply must not notify anyone.
        allowed_mentions: { parse: [] },
        // A preview would fetch an untrusted link and show what it says.
        flags: SUPPRESS_EMBEDS,
        ...(buttons && { components: toRows(buttons) }),
      };
      const edited = replaces && (await call("PATCH", `/${channel}/messages/${replaces}`, content, [404]));
      if (edited && isSuccess(edited)) return { messageId: replaces, thread: thread?.to };
      const post = {
        ...content,
        // Discord's limit for a nonce is 25 characters.
        nonce: hash("sha256", idempotencyKey, "base64url").slice(0, 25),
        enforce_nonce: true,
        // A message that was deleted meanwhile is answered in the channel.
        ...(repliedTo && { message_reference: { message_id: repliedTo, fail_if_not_exists: false } }),
      };
      const inThread = thread?.to === undefined ? undefined : await postInThread(thread.to, post, call);
      if (inThread) return { messageId: inThread, thread: thread?.to };
      const { body } = await call("POST", `/${channel}/messages`, post);
      const messageId = requireId(body["id"], "Discord");
      return { messageId, ...(thread && (await openThread({ channel, messageId, text }, call))) };
    },
    async remove(to, messageId, signal) {
      const call = await open(signal);
      await call("DELETE", `/${splitRecipient(to).place}/messages/${messageId}`, undefined, [404]);
    },
    startWorking: (to, signal) =>
      keepTyping(open, { path: `/${splitRecipient(to).place}/typing`, everyMs: TYPING_MS }, signal),
  };
}

const ACTION_ROW = 1;
const BUTTON = 2;
const STYLES = { good: 3, bad: 4 };
const PLAIN_STYLE = 2;

/** https://docs.discord.com/developers/components/reference#button */
function toRows(buttons: readonly Button[]): object[] {
  if (buttons.length === 0) return [];
  const components = buttons.map(({ label, value, tone }) => ({
    type: BUTTON,
    style: tone ? STYLES[tone] : PLAIN_STYLE,
    label,
    custom_id: toMarked(value),
  }));
  return [{ type: ACTION_ROW, components }];
}

/** Undefined: the thread was deleted, or it is locked. A thread is a channel. */
async function postInThread(thread: string, post: object, call: Call): Promise<string | undefined> {
  const answer = await call("POST", `/${thread}/messages`, post, [400, 404]);
  if (isSuccess(answer)) return requireId(answer.body["id"], "Discord");
  if (answer.status === 404 || answer.body["code"] === THREAD_IS_LOCKED) return undefined;
  throw toRefusal("Discord", answer, explain(answer));
}

const THREAD_IS_LOCKED = 50_083;
const THREAD_IS_OPEN = 160_004;
/** Three days without a message, and clients hide it; the next message shows it again. In minutes. */
const ARCHIVE_AFTER = 4320;
const MAX_THREAD_NAME = 100;

/** The thread of a message has its id. A conversation of two has no threads, and the bot may need a permission. */
async function openThread(
  { channel, messageId, text }: { channel: string; messageId: string; text: string },
  call: Call,
): Promise<{ thread?: string; warnings?: string[] }> {
  const line =
    text
      .trim()
      .split("\n", 1)[0]
      ?.replaceAll(/[*_`~#>|[\]]/g, "")
      .trim() ?? "";
  const fields = { name: cutText(line, MAX_THREAD_NAME) || "Reply", auto_archive_duration: ARCHIVE_AFTER };
  const answer = await call("POST", `/${channel}/messages/${messageId}/threads`, fields, [400, 403]);
  if (isSuccess(answer) || answer.body["code"] === THREAD_IS_OPEN) return { thread: messageId };
  return { warnings: [`No thread was opened. ${toRefusal("Discord", answer, explain(answer)).message}`] };
}

/** Words a refusal: a limit, which ends, or what the bot needs. The body of a 429 has the exact time; that of a proxy may have none. */
export function explain({ status, body }: Pick<HttpAnswer, "body" | "status">): Refusal {
  const { message, code, retry_after: seconds } = body;
  if (status === 429) {
    const retryAfterMs = typeof seconds === "number" ? Math.ceil(seconds * 1000) : undefined;
    return { reason: message, retryable: true, retryAfterMs };
  }
  return { reason: message, advice: ADVICE.get(code) ?? ADVICE.get(status) };
}
