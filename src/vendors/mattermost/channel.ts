import type { FromSchema } from "json-schema-to-ts";
import type { ChannelDefinition } from "../../core/ports/driver.ts";
import { HTTP_URL, NON_BLANK, objectSchema, toText } from "../../core/shared/json.ts";
import { toMarked } from "../kit/button.ts";
import type { Button, ChannelDriver, OutgoingMessage } from "../../core/ports/channel.ts";
import { type Call, createApi, isSuccess, keepTyping, recipientCheck, requireId, splitRecipient } from "../kit/http.ts";
import { createOpenFile } from "../kit/files.ts";
import { MATTERMOST } from "../kit/text/dialects.ts";
import { measureAs, renderMarkdown } from "../kit/text/markdown.ts";

const schema = objectSchema(["token", "baseUrl"], {
  token: {
    ...NON_BLANK,
    description:
      "Access token of a bot account. Without the permission to use channel mentions, its messages cannot notify everyone.",
  },
  baseUrl: { ...HTTP_URL, description: "The server as people open it: https://chat.example.com." },
});

type MattermostOptions = FromSchema<typeof schema>;

export const mattermost: ChannelDefinition<MattermostOptions> = {
  schema,
  create: createMattermost,
  about: {
    to: "channel id; with `:` and the first post's id a thread",
    afterCrash: "once within 30 seconds: the server ignores the repeat",
    testedAgainst: "a double of the REST API",
  },
};

/** Mattermost shows a typing notice for five seconds. */
const TYPING_MS = 4500;

/** The post was deleted, or the server allows no edits: the reply becomes a new post. */
const NOT_EDITED = [403, 404];

/**
 * Posts to a Mattermost server as a bot. The server ignores a repeat within 30 seconds. Only the permissions of the bot's
 * account can keep `@channel` in a text from notifying everyone.
 */
export function createMattermost({ token, baseUrl }: MattermostOptions): ChannelDriver {
  const open = createApi({
    service: "Mattermost",
    baseUrl,
    root: "/api/v4",
    token,
    advice: new Map([
      [401, "Check channels.mattermost.token."],
      [403, "Check the recipient, and add the bot to the channel."],
      [404, "Check the recipient and channels.mattermost.baseUrl."],
    ]),
  });
  return {
    name: "mattermost",
    openFile: createOpenFile({
      service: "Mattermost",
      authorize: open.authorize,
      locate: ({ id }, { baseUrl: root }) => id && `${root}/files/${requireId(id, "Mattermost")}`,
    }),
    limit: 16_383,
    // The server counts code points.
    measure: (text) => Array.from(text).length,
    measureMarkdown: measureAs(MATTERMOST),
    checkRecipient: recipientCheck(
      /^[A-Za-z0-9]{26}(?::[A-Za-z0-9]{26})?$/,
      "the id of a Mattermost channel, 26 letters and digits, as the channel's info shows it; with : and the id of a " +
        "thread's first post, the thread",
    ),
    addressOf: (to) => splitRecipient(to).place,
    isThread: (to) => splitRecipient(to).message !== undefined,
    async findRoot(messageId, signal) {
      const root = await findRoot(await open(signal), messageId);
      return toText(root);
    },
    canUpdate: true,
    buttons: { needsUrl: true },
    async send({ to, text, format, idempotencyKey, replaces, thread, buttons, pressUrl = "" }, signal) {
      const call = await open(signal);
      const message = format === "markdown" ? await renderMarkdown(text, MATTERMOST) : text;
      const props = buttons && { attachments: toAttachments(buttons, pressUrl) };
      const edited = replaces && (await call("PUT", `/posts/${replaces}/patch`, { message, props }, NOT_EDITED));
      if (edited && isSuccess(edited)) return toSent(edited.body, thread);
      const { place: channel_id, message: root_id } = splitRecipient(thread?.to ?? to);
      const post = { channel_id, root_id, message, props, pending_post_id: idempotencyKey };
      const answer = await call("POST", "/posts", post, root_id === undefined ? [] : [400]);
      if (isSuccess(answer)) return toSent(answer.body, thread);
      // The thread was deleted or moved, or the place is a reply, whose thread its event does not name.
      const other = thread?.to === undefined ? await findRoot(call, root_id) : undefined;
      const { body } = await call("POST", "/posts", { ...post, root_id: other });
      return toSent(body, thread);
    },
    async remove(_, messageId, signal) {
      const call = await open(signal);
      await call("DELETE", `/posts/${messageId}`, undefined, [404]);
    },
    startWorking(to, signal) {
      const { place: channel_id, message: parent_id } = splitRecipient(to);
      const notice = { path: "/users/me/typing", body: { channel_id, parent_id }, everyMs: TYPING_MS };
      return keepTyping(open, notice, signal);
    },
  };
}

/** https://developers.mattermost.com/integrate/plugins/interactive-messages/ */
function toAttachments(buttons: readonly Button[], url: string): object[] {
  if (buttons.length === 0) return [];
  const actions = buttons.map(({ label, value, tone }, index) => ({
    // Letters and digits alone.
    id: `hookline${index}`,
    name: label,
    type: "button",
    ...(tone && { style: tone === "good" ? "good" : "danger" }),
    integration: { url, context: { hookline: toMarked(value) } },
  }));
  return [{ actions }];
}

function toSent(
  { id, root_id: root, channel_id: channel }: Record<string, unknown>,
  thread: OutgoingMessage["thread"],
): { messageId: string; thread?: string } {
  const messageId = requireId(id, "Mattermost");
  return { messageId, ...(thread && { thread: `${requireId(channel, "Mattermost")}:${toText(root) || messageId}` }) };
}

/** The first post of the thread that a post is in. */
async function findRoot(call: Call, id = ""): Promise<unknown> {
  const { body } = await call("GET", `/posts/${id}`);
  return body["root_id"] || id;
}
