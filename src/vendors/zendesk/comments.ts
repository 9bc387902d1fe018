import type { FromSchema } from "json-schema-to-ts";
import type { ChannelDefinition } from "../../core/ports/driver.ts";
import { HTTP_URL, NON_BLANK, readPath, toObjects, toText, objectSchema } from "../../core/shared/json.ts";
import type { ChannelDriver } from "../../core/ports/channel.ts";
import { recipientCheck, requireId } from "../kit/http.ts";
import { MAIL } from "../kit/text/dialects.ts";
import { measureAs, renderMarkdown } from "../kit/text/markdown.ts";
import { createCommentChannel } from "../kit/comments/comment.ts";
import { toInvisibleMark } from "../kit/comments/mark.ts";
import { breakPlaceholders, neutralizePlain } from "../kit/comments/neutralize.ts";
import { createZendeskApi, type ZendeskAccount } from "./client.ts";

const schema = {
  description:
    "Internal notes and answers on Zendesk's tickets. An OAuth access token needs tickets:read and tickets:write.",
  ...objectSchema(["token"], {
    token: {
      ...NON_BLANK,
      description: "`<email>/token:<API token>` of an agent, or an OAuth access token.",
    },
    subdomain: {
      type: "string",
      pattern: "^[a-z0-9][a-z0-9-]{0,62}$",
      description: "As in `https://<subdomain>.zendesk.com`.",
    },
    baseUrl: { ...HTTP_URL, description: "Instead of subdomain, for tests and proxies." },
  }),
} as const;

export const zendesk: ChannelDefinition<ZendeskAccount> = {
  schema,
  check: ({ subdomain, baseUrl }: FromSchema<typeof schema>) =>
    (subdomain === undefined) === (baseUrl === undefined) ? [{ message: "Set either subdomain or baseUrl." }] : [],
  create: createZendesk,
  about: {
    to: "`12`, a ticket: an internal note; `public:12` answers the customer",
    needs: "an agent of the ticket's group; of an OAuth token `tickets:read` and `tickets:write`",
    testedAgainst: "a double, compared with Zendesk's API reference",
  },
};

const RECIPIENT = /^(?<isPublic>public:)?(?<ticket>[1-9]\d{0,15})$/;

/** A comment is part of an update of its ticket. https://developer.zendesk.com/api-reference/ticketing/tickets/ticket_comments/ */
export function createZendesk(account: ZendeskAccount): ChannelDriver {
  return createCommentChannel(
    {
      name: "zendesk",
      // HTML counts. Zendesk cuts what is longer than 64 KB.
      limit: 16_000,
      measureMarkdown: measureAs(MAIL),
      checkRecipient: recipientCheck(
        RECIPIENT,
        "the number of a ticket such as 12 for an internal note, or public:12 for an answer to the customer",
      ),
      // Customers would see another mark.
      toMark: toInvisibleMark,
      async render({ text, format }, toMark) {
        const html =
          format === "markdown" ? await renderMarkdown(text, MAIL) : MAIL.text(text).replaceAll("\n", "<br>");
        return `${toMark()}${breakPlaceholders(neutralizePlain(html))}`;
      },
      async add(to, html, call) {
        const { ticket, isPublic } = RECIPIENT.exec(to)?.groups ?? {};
        const comment = { html_body: html, public: isPublic !== undefined };
        const { body } = await call("PUT", `/tickets/${ticket}`, { ticket: { comment } });
        const added = toObjects(readPath(body, ["audit", "events"])).find(({ type }) => type === "Comment");
        return requireId(added?.["id"], "Zendesk");
      },
      async find(to, mark, call) {
        const { ticket } = RECIPIENT.exec(to)?.groups ?? {};
        const { body } = await call("GET", `/tickets/${ticket}/comments?sort=-created_at&page[size]=100`);
        const found = toObjects(body["comments"]).find((comment) => toText(comment["html_body"]).includes(mark));
        return found && requireId(found["id"], "Zendesk");
      },
    },
    createZendeskApi(account),
  );
}
