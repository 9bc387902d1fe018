import type { FromSchema } from "json-schema-to-ts";
import type { DriverError } from "../errors.ts";
import type { DriverDefinition } from "../plugin.ts";
import { HTTP_URL, NON_BLANK } from "../shared/json.ts";
import { type ChannelDriver, keepTyping, recipientCheck } from "./driver.ts";
import { type HttpAnswer, request, toRefusal } from "./http.ts";
import { MARKDOWN, renderMarkdown } from "./markdown.ts";

const schema = {
  type: "object",
  additionalProperties: false,
  required: ["token", "baseUrl"],
  properties: {
    token: {
      ...NON_BLANK,
      description:
        "Access token of a bot account. Without the permission to use channel mentions, its messages cannot notify everyone.",
    },
    baseUrl: { ...HTTP_URL, description: "The server as people open it: https://chat.example.com." },
  },
} as const;

type MattermostOptions = FromSchema<typeof schema>;

export const mattermost: DriverDefinition<ChannelDriver, MattermostOptions> = { schema, create: createMattermost };

const LIMIT = 16_383;

/** Mattermost shows a typing notice for five seconds. */
const TYPING_MS = 4500;

const ADVICE = new Map([
  [401, "Check channels.mattermost.token."],
  [403, "Check the recipient, and add the bot to the channel."],
  [404, "Check the recipient and channels.mattermost.baseUrl."],
]);

/**
 * Posts to a Mattermost server as a bot. The server ignores a repeat within 30 seconds. Only the permissions of the bot's
 * account can keep `@channel` in a text from notifying everyone.
 */
export function createMattermost({ token, baseUrl }: MattermostOptions): ChannelDriver {
  const call = (
    path: string,
    body: object,
    { signal, method }: { signal: AbortSignal; method?: "PUT" },
  ): Promise<HttpAnswer> =>
    request({
      service: "Mattermost",
      url: `${baseUrl.replace(/\/$/, "")}/api/v4/${path}`,
      method,
      headers: { authorization: `Bearer ${token}` },
      body,
      signal,
    });

  return {
    name: "mattermost",
    limit: LIMIT,
    // The server counts code points.
    measure: (text) => Array.from(text).length,
    checkRecipient: recipientCheck(
      /^[A-Za-z0-9]{26}(?::[A-Za-z0-9]{26})?$/,
      "the id of a Mattermost channel, 26 letters and digits, as the channel's info shows it; with : and the id of a " +
        "thread's first post, the thread",
    ),
    addressOf: (to) => toPlace(to).channel_id,
    canUpdate: true,
    async send({ to, text, format, idempotencyKey, replaces }, signal) {
      const message = format === "markdown" ? await renderMarkdown(text, MARKDOWN, LIMIT) : text;
      if (replaces) {
        const edited = await call(`posts/${replaces}/patch`, { message }, { signal, method: "PUT" });
        if (edited.status === 200 && edited.body["id"] === replaces) return { messageId: replaces };
        // It was deleted, or the server allows no edits: the reply becomes a new post.
        if (edited.status !== 403 && edited.status !== 404) throw toDriverError(edited);
      }
      const answer = await call("posts", { ...toPlace(to), message, pending_post_id: idempotencyKey }, { signal });
      const { status, body } = answer;
      // Without an id it is another server's answer, a proxy's sign-in page for example.
      if (status === 201 && typeof body["id"] === "string") return { messageId: body["id"] };
      throw toDriverError(answer);
    },
    startWorking(to, started) {
      const { channel_id, root_id: parent_id } = toPlace(to);
      return keepTyping(
        async (signal) => {
          const answer = await call("users/me/typing", { channel_id, parent_id }, { signal });
          if (answer.status !== 200) throw toDriverError(answer);
        },
        { everyMs: TYPING_MS, signal: started },
      );
    },
  };
}

function toDriverError(answer: HttpAnswer): DriverError {
  return toRefusal("Mattermost", answer, { reason: answer.body["message"], advice: ADVICE.get(answer.status) });
}

/** `channel:post` is the thread that the post begins. */
function toPlace(to: string): { channel_id: string; root_id?: string } {
  const [channel_id = "", root_id] = to.split(":", 2);
  return { channel_id, root_id };
}
