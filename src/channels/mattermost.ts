import type { FromSchema } from "json-schema-to-ts";
import type { DriverDefinition } from "../plugin.ts";
import { HTTP_URL, NON_BLANK } from "../shared/schema.ts";
import { type ChannelDriver, recipientCheck } from "./driver.ts";
import { post, toRefusal } from "./http.ts";

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
  return {
    name: "mattermost",
    limit: 16_383,
    // The server counts code points.
    measure: (text) => Array.from(text).length,
    checkRecipient: recipientCheck(
      /^[A-Za-z0-9]{26}$/,
      "the id of a Mattermost channel, 26 letters and digits, as the channel's info shows it",
    ),
    async send({ to, text, idempotencyKey }, signal) {
      const answer = await post({
        service: "Mattermost",
        url: `${baseUrl.replace(/\/$/, "")}/api/v4/posts`,
        headers: { authorization: `Bearer ${token}` },
        body: { channel_id: to, message: text, pending_post_id: idempotencyKey },
        signal,
      });
      const { status, body } = answer;
      // Without an id it is another server's answer, a proxy's sign-in page for example.
      if (status === 201 && typeof body["id"] === "string") return { messageId: body["id"] };
      throw toRefusal("Mattermost", answer, { reason: body["message"], advice: ADVICE.get(status) });
    },
  };
}
