import type { FromSchema } from "json-schema-to-ts";
import type { ChannelDefinition } from "../../core/ports/driver.ts";
import { HTTP_URL, NON_BLANK, toObject, toObjects, objectSchema } from "../../core/shared/json.ts";
import type { ChannelDriver } from "../../core/ports/channel.ts";
import { isSuccess, recipientCheck, requireId } from "../kit/http.ts";
import { PLAIN } from "../kit/text/dialects.ts";
import { renderMarkdown } from "../kit/text/markdown.ts";
import { createCommentChannel, GONE } from "../kit/comments/comment.ts";
import { createPagerdutyApi } from "./client.ts";
import { toInvisibleMark } from "../kit/comments/mark.ts";
import { neutralizePlain } from "../kit/comments/neutralize.ts";

const schema = {
  description:
    "Notes on PagerDuty's incidents. An API key that can write, or a token with incidents.read and incidents.write.",
  ...objectSchema(["token", "from"], {
    token: { ...NON_BLANK, description: "REST API key." },
    from: { type: "string", pattern: "^\\S+@\\S+$", description: "The mail address of the user who writes the notes." },
    baseUrl: {
      ...HTTP_URL,
      description: "https://api.eu.pagerduty.com in Europe. Default: https://api.pagerduty.com.",
    },
  }),
} as const;

type PagerdutyOptions = FromSchema<typeof schema>;

export const pagerduty: ChannelDefinition<PagerdutyOptions> = {
  schema,
  create: createPagerduty,
  about: {
    to: "an incident's id",
    needs: "an API key that can write; of a scoped token `incidents.read` and `incidents.write`",
    testedAgainst: "a double, compared with PagerDuty's OpenAPI file",
  },
};

/** Notes on incidents, as plain text. PagerDuty passes them on to chats. */
export function createPagerduty(options: PagerdutyOptions): ChannelDriver {
  const open = createPagerdutyApi(options);
  return createCommentChannel(
    {
      name: "pagerduty",
      limit: 20_000,
      checkRecipient: recipientCheck(/^[A-Z0-9]{7,20}$/, "the id of an incident such as Q02JTSNZWHSEKV"),
      // The mark comes first, because PagerDuty cuts long notes in its events.
      toMark: toInvisibleMark,
      async render({ text, format }, toMark) {
        const shown = format === "markdown" ? await renderMarkdown(text, PLAIN) : text;
        return { note: { content: `${toMark()}${neutralizePlain(shown)}` } };
      },
      async add(to, body, call) {
        const answer = await call("POST", `/incidents/${to}/notes`, body);
        return requireId(toObject(answer.body["note"])["id"], "PagerDuty");
      },
      async edit(to, messageId, body, call) {
        const path = `/incidents/${to}/notes/${encodeURIComponent(messageId)}`;
        return isSuccess(await call("PUT", path, body, GONE));
      },
      async find(to, mark, call) {
        const { body } = await call("GET", `/incidents/${to}/notes`);
        const found = toObjects(body["notes"]).find(({ content }) => String(content).startsWith(mark));
        return found && requireId(found["id"], "PagerDuty");
      },
    },
    open,
  );
}
