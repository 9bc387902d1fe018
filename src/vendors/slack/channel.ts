import type { FromSchema } from "json-schema-to-ts";
import { DriverError } from "../../core/errors.ts";
import type { ChannelDefinition } from "../../core/ports/driver.ts";
import { HTTP_URL, NON_BLANK, toObject, toObjects, objectSchema } from "../../core/shared/json.ts";
import type { Button, ChannelDriver } from "../../core/ports/channel.ts";
import { toMarked } from "../kit/button.ts";
import { createOpenFile } from "../kit/files.ts";
import { PAGE_ADDRESS, recipientCheck, requireId, splitRecipient } from "../kit/http.ts";
import { type Ask, openSlack } from "./client.ts";
import { escapeAngles, SLACK } from "../kit/text/dialects.ts";
import { measureAs, renderMarkdown } from "../kit/text/markdown.ts";

const schema = objectSchema(["token"], {
  token: { ...NON_BLANK, description: "Bot token." },
  baseUrl: { ...HTTP_URL, description: "For tests and proxies. Default: https://slack.com/api/." },
});

type SlackOptions = FromSchema<typeof schema>;

export const slack: ChannelDefinition<SlackOptions> = {
  schema,
  create: createSlack,
  about: {
    to: "channel id or `#name`; with `:1712345678.000100` a thread",
    afterCrash: "once, if the token may read the channel (`channels:history`, for private ones `groups:history`)",
    testedAgainst: "the npm package `emulate`",
  },
};

/** Posts to Slack as a bot. After a lost answer it looks for its message, if the token may read the channel. */
export function createSlack(options: SlackOptions): ChannelDriver {
  const open = openSlack(options);
  return {
    name: "slack",
    limit: 4000,
    measure: (text) => escapeAngles(text).length,
    measureMarkdown: measureAs(SLACK),
    checkRecipient: recipientCheck(
      /^(?:[#@][\p{L}\p{N}_.-]{1,80}|[A-Z][A-Z0-9]{1,79})(?::\d{1,12}\.\d{1,9})?$/u,
      "a Slack channel, user or conversation id such as C0123456789, or a #channel-name; with :1712345678.000100 a thread",
    ),
    addressOf: (to) => splitRecipient(to).place,
    isThread: (to) => splitRecipient(to).message !== undefined,
    canUpdate: true,
    openFile: createOpenFile({
      service: "Slack",
      authorize: open.authorize,
      withCredential: ["files.slack.com"],
      isFile: ({ pathname }) => /^\/files-(?:pri|tmb)\//.test(pathname),
      hosts: ["*.slack.com", "slack-files.com", "*.slack-edge.com"],
      async locate({ url, id }, { signal }) {
        if (url !== undefined || id === undefined) return url;
        // In a channel that is shared with another organization the event has the id only.
        const info = await (await open(signal))("files.info", new URLSearchParams({ file: id }));
        const { url_private_download: file, url_private: page } = toObject(info?.["file"]);
        return requireId(file ?? page, "Slack", PAGE_ADDRESS);
      },
    }),
    // The longest text of a block.
    buttons: { limit: 3000 },
    async tell(to, person, text, signal) {
      const { place: channel, message: thread_ts } = splitRecipient(to);
      const user = person.split("/").at(-1);
      const ask = await open(signal);
      await ask("chat.postEphemeral", { channel, user, thread_ts, text: escapeAngles(text) });
    },
    authorize: open.authorize,
    async send({ to, text, format, idempotencyKey, replaces, mayBeSent, thread, buttons }, signal) {
      const ask = await open(signal);
      // Slack reads `<…>` as a link or a mention: with `<!channel>` a reply could notify everyone.
      const shown = format === "markdown" ? await renderMarkdown(text, SLACK) : escapeAngles(text);
      const content = {
        text: shown,
        ...(buttons && { blocks: toBlocks(shown, buttons) }),
        // A preview would fetch an untrusted link and show what it says.
        unfurl_links: false,
        unfurl_media: false,
      };
      const earlier = replaces && splitRecipient(replaces);
      const edited =
        earlier && (await ask("chat.update", { channel: earlier.place, ts: earlier.message, ...content }, NOT_EDITED));
      if (edited) return { messageId: replaces, thread: thread && (thread.to ?? replaces) };
      const metadata = { event_type: EVENT_TYPE, event_payload: { key: idempotencyKey } };
      const post = async (place: string, accepted?: string[]): Promise<string | undefined> => {
        const { place: channel, message: thread_ts } = splitRecipient(place);
        const posted = await ask("chat.postMessage", { channel, thread_ts, ...content, metadata }, accepted);
        return posted && `${requireId(posted["channel"], "Slack")}:${requireId(posted["ts"], "Slack")}`;
      };
      const root = thread?.to;
      const inThread =
        root && ((mayBeSent && (await findSent(root, idempotencyKey, ask))) || (await post(root, THREAD_IS_GONE)));
      if (inThread) return { messageId: inThread, thread: root };
      const messageId = (mayBeSent && (await findSent(to, idempotencyKey, ask))) || (await post(to));
      return { messageId, thread: thread && messageId };
    },
    async remove(_, messageId, signal) {
      const { place: channel, message: ts } = splitRecipient(messageId);
      const ask = await open(signal);
      await ask("chat.delete", { channel, ts }, ["message_not_found", "channel_not_found"]);
    },
    async startWorking(to, signal) {
      const { place: channel, message: timestamp } = splitRecipient(to);
      // A channel is no message that could have a reaction.
      if (timestamp === undefined) return async () => {};
      const mark = { channel, timestamp, name: "eyes" };
      const ask = await open(signal);
      await ask("reactions.add", mark, ["already_reacted"]);
      return async () => {
        const askAgain = await open(AbortSignal.timeout(MARK_TIMEOUT_MS));
        await askAgain("reactions.remove", mark, ["no_reaction"]);
      };
    },
  };
}

/** None: without buttons the text is the message. https://docs.slack.dev/reference/block-kit/blocks */
function toBlocks(text: string, buttons: readonly Button[]): object[] {
  if (buttons.length === 0) return [];
  const elements = buttons.map(({ label, value, tone }, index) => ({
    type: "button",
    action_id: `hookline-${index}`,
    text: { type: "plain_text", text: label },
    value: toMarked(value),
    ...(tone && { style: tone === "good" ? "primary" : "danger" }),
  }));
  return [
    { type: "section", text: { type: "mrkdwn", text } },
    { type: "actions", elements },
  ];
}

/** Nobody sees it. https://docs.slack.dev/messaging/message-metadata */
const EVENT_TYPE = "hookline_delivery";

/** Where the token may not read, or the recipient is no channel's id, nobody can tell. */
function unlessPermanent(error: unknown): undefined {
  if (!(error instanceof DriverError) || error.retryable) throw error;
}

/** Among the newest thousand messages of the channel, or of the thread. */
async function findSent(to: string, key: string, ask: Ask): Promise<string | undefined> {
  const { place: channel, message: ts } = splitRecipient(to);
  const method = ts === undefined ? "conversations.history" : "conversations.replies";
  let cursor = "";
  for (let page = 0; page < 5; page += 1) {
    const fields = {
      channel,
      include_all_metadata: "true",
      limit: "200",
      ...(ts && { ts }),
      ...(cursor && { cursor }),
    };
    const answer = await ask(method, new URLSearchParams(fields)).catch(unlessPermanent);
    const found = toObjects(answer?.["messages"]).find(({ metadata }) => {
      const { event_type: type, event_payload: payload } = toObject(metadata);
      return type === EVENT_TYPE && toObject(payload)["key"] === key;
    });
    if (found) return `${channel}:${requireId(found["ts"], "Slack")}`;
    const next = toObject(answer?.["response_metadata"])["next_cursor"];
    if (typeof next !== "string" || next === "") return undefined;
    cursor = next;
  }
  return undefined;
}

/** Its first message was deleted, or can have no replies. */
const THREAD_IS_GONE = ["thread_not_found", "message_not_found", "cannot_reply_to_message", "invalid_thread_ts"];

/** The message is gone, or too old: the reply becomes a new one. */
const NOT_EDITED = ["message_not_found", "cant_update_message", "edit_window_closed", "channel_not_found"];

const MARK_TIMEOUT_MS = 10_000;
