import type { FromSchema } from "json-schema-to-ts";
import type { ChannelDefinition } from "../../core/ports/driver.ts";
import { toObject, objectSchema } from "../../core/shared/json.ts";
import type { ChannelDriver } from "../../core/ports/channel.ts";
import { createApi, type HttpAnswer, recipientCheck, type Refusal, requireId, untilReset } from "../kit/http.ts";
import { changeAtPath, createCommentChannel, findMarked, toMarkedText } from "../kit/comments/comment.ts";
import { commentOptions } from "../kit/comments/options.ts";

const schema = {
  description: "Comments on Sentry's issues. The token of an internal integration needs Issue & Event: Read & Write.",
  ...objectSchema(["token", "organization"], {
    ...commentOptions(
      "Token of an internal integration.",
      "https://de.sentry.io in Europe, or your own server. Default: https://sentry.io.",
    ),
    organization: { type: "string", pattern: "^[\\w-]{1,64}$", description: "The organization's slug." },
  }),
} as const;

type SentryOptions = Pick<FromSchema<typeof schema>, "organization" | "token"> & Partial<FromSchema<typeof schema>>;

export const sentry: ChannelDefinition<SentryOptions> = {
  schema,
  create: createSentry,
  about: {
    to: "an issue's id or short id",
    needs: "*Issue & Event*: read and write",
    testedAgainst: "a double of the REST API",
  },
};

const ADVICE = new Map([
  [401, "Check channels.sentry.token."],
  [403, "Give the integration the permission Issue & Event: Read & Write."],
  [404, "Check the recipient, and channels.sentry.organization and baseUrl."],
]);

export function createSentry(options: SentryOptions): ChannelDriver {
  const { token, organization, baseUrl = "https://sentry.io" } = options;
  const { host } = new URL(baseUrl);
  const open = createApi({
    service: "Sentry",
    baseUrl,
    root: `/api/0/organizations/${organization}`,
    token,
    explain,
  });
  return createCommentChannel(
    {
      name: "sentry",
      limit: 20_000,
      checkRecipient: recipientCheck(
        /^(?:[1-9]\d{0,19}|[A-Z0-9][A-Z0-9_-]{0,100}-[A-Z0-9]{1,20})$/,
        "an issue's id such as 4501, or its short id such as SHOP-2F",
      ),
      render: ({ text }, toMark) => ({ text: toMarkedText(text, toMark, { ...options, host }) }),
      async add(to, body, call) {
        const answer = await call("POST", toPath(to), body);
        return toMessageId(answer.body["id"]);
      },
      ...changeAtPath("PUT", (to, messageId) => {
        const id = /^comment-(\d+)$/.exec(messageId)?.[1];
        return id && `${toPath(to)}${id}/`;
      }),
      async find(to, mark, call) {
        // Newest first.
        const { items } = await call("GET", toPath(to));
        const found = findMarked(items, mark, ({ data }) => toObject(data)["text"]);
        return found && toMessageId(found["id"]);
      },
    },
    open,
  );
}

/** Words a refusal: a limit, which ends, or what the token needs. https://docs.sentry.io/api/ratelimits/ */
function explain({ status, headers, body }: HttpAnswer): Refusal {
  const { detail: reason } = body;
  if (status === 429) {
    return { reason, retryable: true, retryAfterMs: untilReset(headers, "x-sentry-rate-limit-reset") };
  }
  return { reason, advice: ADVICE.get(status) };
}

/** Without the slash at the end, Sentry redirects. */
function toPath(issue: string): string {
  return `/issues/${issue}/comments/`;
}

/** The id in Sentry's event about the comment. */
function toMessageId(id: unknown): string {
  return `comment-${requireId(id, "Sentry")}`;
}
