import type { FromSchema } from "json-schema-to-ts";
import type { ChannelDefinition } from "../../core/ports/driver.ts";
import { HTTP_URL, NON_BLANK, toObjects, toText, objectSchema } from "../../core/shared/json.ts";
import type { ChannelDriver } from "../../core/ports/channel.ts";
import { type Call, createApi, type HttpAnswer, recipientCheck, type Refusal, requireId } from "../kit/http.ts";
import { readAll } from "../kit/hook-calls.ts";
import { createCommentChannel } from "../kit/comments/comment.ts";
import { toInvisibleMark } from "../kit/comments/mark.ts";
import { breakPlaceholders, neutralize } from "../kit/comments/neutralize.ts";

const schema = {
  description: "Private notes and answers in Chatwoot's conversations.",
  ...objectSchema(["token"], {
    token: { ...NON_BLANK, description: "Access token of an agent who can see the conversation." },
    baseUrl: { ...HTTP_URL, description: "Your own server. Default: https://app.chatwoot.com." },
  }),
} as const;

type ChatwootOptions = Pick<FromSchema<typeof schema>, "token"> & Partial<FromSchema<typeof schema>>;

export const chatwoot: ChannelDefinition<ChatwootOptions> = {
  schema,
  create: createChatwoot,
  about: {
    to: "`3/42`, account and conversation: a private note; `public:3/42` answers the customer",
    needs: "the access token of an agent who can see the conversation",
    testedAgainst: "a double, compared with Chatwoot's source",
  },
};

const ADVICE = new Map([
  [401, "Check channels.chatwoot.token."],
  [403, "The owner of the token must be an agent who can see the conversation."],
  [404, "Check the recipient, and channels.chatwoot.baseUrl."],
]);

const RECIPIENT = /^(?<isPublic>public:)?(?<account>[1-9]\d{0,15})\/(?<conversation>[1-9]\d{0,15})$/;

/** Markdown of a message. What Chatwoot has sent to a customer cannot be edited. */
export function createChatwoot({ token, baseUrl = "https://app.chatwoot.com" }: ChatwootOptions): ChannelDriver {
  const { host } = new URL(baseUrl);
  const open = createApi({
    service: "Chatwoot",
    baseUrl,
    root: "/api/v1",
    token,
    headers: () => ({ api_access_token: token }),
    explain,
  });
  return createCommentChannel(
    {
      name: "chatwoot",
      limit: 20_000,
      checkRecipient: recipientCheck(
        RECIPIENT,
        "an account and a conversation such as 3/42 for a private note, or public:3/42 for an answer to the customer",
      ),
      // Customers would see another mark.
      toMark: toInvisibleMark,
      render: ({ text }, toMark) => `${toMark()}${toContent(text, host)}`,
      async add(to, content, call) {
        const { isPublic } = RECIPIENT.exec(to)?.groups ?? {};
        const message = { content, message_type: "outgoing", private: isPublic === undefined };
        const { body } = await call("POST", toPath(to), message);
        return requireId(body["id"], "Chatwoot");
      },
      async find(to, mark, call) {
        const found = (await readNewest(to, call)).find(({ content }) => toText(content).startsWith(mark));
        return found && requireId(found["id"], "Chatwoot");
      },
    },
    open,
  );
}

/** A page has 20 messages, the newest last. */
const MAX_PAGES = 5;

function readNewest(to: string, call: Call): Promise<Record<string, unknown>[]> {
  let left = MAX_PAGES;
  return readAll(async (before) => {
    left -= 1;
    const { body } = await call("GET", `${toPath(to)}${before === undefined ? "" : `?before=${before}`}`);
    const items = toObjects(body["payload"]);
    const oldest = items[0]?.["id"];
    return { items, next: left === 0 || oldest === undefined ? undefined : requireId(oldest, "Chatwoot") };
  });
}

/** `[@Ada](mention://user/1/Ada)` in a note notifies people. */
const MENTION = /mention(?=:\/\/)/gi;

/** Behind the mark, only letters can follow on the same line: others could begin a list or a heading. */
function toContent(markdown: string, host: string): string {
  const text = breakPlaceholders(neutralize(markdown, { host })).replaceAll(MENTION, "mention\u200B");
  return /^\p{L}/u.test(text) ? text : `\n\n${text}`;
}

function toPath(to: string): string {
  const { account, conversation } = RECIPIENT.exec(to)?.groups ?? {};
  return `/accounts/${account}/conversations/${conversation}/messages`;
}

/** Words a refusal. https://developers.chatwoot.com */
function explain({ status, body }: HttpAnswer): Refusal {
  const [first] = Array.isArray(body["errors"]) ? body["errors"] : [];
  return { reason: body["error"] ?? body["message"] ?? first, advice: ADVICE.get(status) };
}
