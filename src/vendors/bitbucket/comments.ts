import type { FromSchema } from "json-schema-to-ts";
import type { ChannelDefinition } from "../../core/ports/driver.ts";
import { toObject, toObjects, objectSchema } from "../../core/shared/json.ts";
import type { ChannelDriver } from "../../core/ports/channel.ts";
import { recipientCheck, requireId } from "../kit/http.ts";
import { changeAtPath, createCommentChannel, findMarked, toMarkedText } from "../kit/comments/comment.ts";
import { toLinkMark } from "../kit/comments/mark.ts";
import { createBitbucketApi, toHost } from "./client.ts";
import { commentOptions } from "../kit/comments/options.ts";

const schema = {
  description:
    "Comments on Bitbucket Cloud. The token needs the permission Pull requests: Write, for issues Issues: Write.",
  ...objectSchema(["token"], {
    ...commentOptions(
      "Access token of a repository, project or workspace; or, with email, an API token.",
      "Default: https://api.bitbucket.org/2.0.",
    ),
    email: { type: "string", pattern: "^[^\\s:]+@[^\\s:]+$", description: "The address of the API token's account." },
  }),
} as const;

type BitbucketOptions = Pick<FromSchema<typeof schema>, "token"> & Partial<FromSchema<typeof schema>>;

export const bitbucket: ChannelDefinition<BitbucketOptions> = {
  schema,
  create: createBitbucket,
  about: {
    to: "`acme/app!12` or `acme/app#12`, with `/c345` a reply to a pull request's comment",
    needs: "*Pull requests*: write; for issues *Issues*: write",
    testedAgainst: "a double, which Bitbucket's API client uses too",
  },
};

const RECIPIENT =
  /^(?<repo>[\w-]{1,100}\/(?!\.{1,2}[!#])[\w.-]{1,100})(?:#(?<issue>[1-9]\d{0,15})|!(?<pull>[1-9]\d{0,15})(?:\/c(?<parent>[1-9]\d{0,15}))?)$/;

/** Comments on pull requests and issues, and replies to a comment on a pull request. */
export function createBitbucket(options: BitbucketOptions): ChannelDriver {
  const host = toHost(options.baseUrl);
  return createCommentChannel<{ content: { raw: string } }>(
    {
      name: "bitbucket",
      // Bitbucket accepts 32,768 characters.
      limit: 12_000,
      addressOf: (to) => to.replace(/\/c\d+$/, ""),
      checkRecipient: recipientCheck(
        RECIPIENT,
        "a pull request such as acme/app!12, an issue such as acme/app#12, or acme/app!12/c345 for a reply to a comment",
      ),
      toMark: toLinkMark,
      render: ({ text }, toMark) => ({
        content: { raw: toMarkedText(text, toMark, { ...options, host }) },
      }),
      async add(to, body, call) {
        const { path, parent, kind } = parseRecipient(to);
        const answer = await call("POST", path, parent ? { ...body, parent: { id: Number(parent) } } : body);
        return toMessageId(kind, answer.body["id"]);
      },
      ...changeAtPath("PUT", (to, messageId) => {
        const { path, kind } = parseRecipient(to);
        const [, kindOfMessage, id] = /^([a-z-]+)-(\d+)$/.exec(messageId) ?? [];
        return kindOfMessage === kind ? `${path}/${id}` : undefined;
      }),
      async find(to, mark, call) {
        const { path, kind } = parseRecipient(to);
        const { body } = await call("GET", `${path}?sort=-created_on&pagelen=100`);
        const found = findMarked(toObjects(body["values"]), mark, ({ content }) => toObject(content)["raw"]);
        return found && toMessageId(kind, found["id"]);
      },
    },
    createBitbucketApi(options),
  );
}

/** Pull requests and issues number their comments apart. */
function toMessageId(kind: string, id: unknown): string {
  return `${kind}-${requireId(id, "Bitbucket")}`;
}

function parseRecipient(to: string): { path: string; kind: string; parent: string | undefined } {
  const { repo, issue, pull, parent } = RECIPIENT.exec(to)?.groups ?? {};
  const path = `/repositories/${repo}/${pull ? `pullrequests/${pull}` : `issues/${issue}`}/comments`;
  return { path, kind: pull ? "pullrequest-comment" : "issue-comment", parent };
}
