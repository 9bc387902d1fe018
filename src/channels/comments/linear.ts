import { hash } from "node:crypto";
import type { FromSchema } from "json-schema-to-ts";
import { DriverError } from "../../errors.ts";
import type { DriverDefinition } from "../../plugin.ts";
import { isObject, toObject } from "../../shared/json.ts";
import { HTTP_URL, NON_BLANK } from "../../shared/schema.ts";
import { type ChannelDriver, recipientCheck } from "../driver.ts";
import { createCommentChannel, requireId } from "./comment.ts";
import { createLinearApi } from "./linear-api.ts";
import { ALLOWANCES, neutralize } from "./neutralize.ts";

const schema = {
  type: "object",
  additionalProperties: false,
  description:
    "Comments on Linear's issues. An API key needs the permissions Read and Create comments, an OAuth token the scopes read and comments:create; to edit comments and to show reactions, both need write.",
  properties: {
    token: { ...NON_BLANK, description: "API key of an account of the agent's own, or an OAuth access token." },
    app: {
      type: "object",
      additionalProperties: false,
      required: ["id", "secret"],
      description:
        "An OAuth application with client credentials instead of a token. It asks for the scopes read and write.",
      properties: {
        id: { ...NON_BLANK, description: "Its client id." },
        secret: { ...NON_BLANK, description: "Its client secret." },
      },
    },
    ...ALLOWANCES,
    baseUrl: { ...HTTP_URL, description: "For tests and proxies. Default: https://api.linear.app." },
  },
} as const;

type LinearOptions = Partial<FromSchema<typeof schema>>;

export const linear: DriverDefinition<ChannelDriver, LinearOptions> = {
  schema,
  check: ({ token, app }) =>
    (token === undefined) === (app === undefined) ? [{ message: "Set either token or app." }] : [],
  create: createLinear,
};

const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
const PLACE = new RegExp(`^(?<issue>[A-Z][A-Z0-9]{0,19}-[1-9]\\d{0,9})(?:/c(?<thread>${UUID}))?$`);

/** Comments on issues, and replies in their threads. */
export function createLinear(options: LinearOptions): ChannelDriver {
  const { token, app, baseUrl = "https://api.linear.app" } = options;
  const open = createLinearApi({ token, app, baseUrl });
  return createCommentChannel(
    {
      name: "linear",
      limit: 20_000,
      addressOf: (to) => to.replace(/\/c.*$/, ""),
      checkRecipient: recipientCheck(
        PLACE,
        "an issue such as ENG-12, or one with /c and the id of the comment that begins a thread",
      ),
      toMark: toCommentId,
      async render({ text }, id) {
        const body = await neutralize(text, { ...options, host: "linear.app" });
        return { id, body: options.allowMentions ? body : withoutProfiles(body) };
      },
      async add(to, comment, ask) {
        const data = await ask(ADD, { input: { ...comment, ...parsePlace(to) } });
        if (!data)
          throw new DriverError(
            "Linear has no such issue or thread. Check the recipient, and that the token can see it.",
            { retryable: false },
          );
        return requireId(toObject(toObject(data["commentCreate"])["comment"])["id"], "Linear");
      },
      async edit(_to, id, { body }, ask) {
        return (await ask(EDIT, { id, input: { body } })) !== undefined;
      },
      async find(_to, id, ask) {
        const data = await ask(FIND, { id });
        return isObject(data?.["comment"]) ? requireId(data["comment"]["id"], "Linear") : undefined;
      },
      async startWorking(to, signal) {
        const { issueId, parentId } = parsePlace(to);
        const input = { emoji: "eyes", ...(parentId ? { commentId: parentId } : { issueId }) };
        const data = await (await open(signal))(REACT, { input });
        const id = requireId(toObject(toObject(data?.["reactionCreate"])["reaction"])["id"], "Linear");
        return async () => {
          const ask = await open(AbortSignal.timeout(REACTION_TIMEOUT_MS));
          await ask(UNREACT, { id });
        };
      },
    },
    open,
  );
}

const ADD = "mutation ($input: CommentCreateInput!) { commentCreate(input: $input) { comment { id } } }";
const EDIT =
  "mutation ($id: String!, $input: CommentUpdateInput!) { commentUpdate(id: $id, input: $input) { success } }";
const FIND = "query ($id: String!) { comment(id: $id) { id } }";
const REACT = "mutation ($input: ReactionCreateInput!) { reactionCreate(input: $input) { reaction { id } } }";
const UNREACT = "mutation ($id: String!) { reactionDelete(id: $id) { success } }";

const REACTION_TIMEOUT_MS = 10_000;

function parsePlace(to: string): { issueId: string | undefined; parentId: string | undefined } {
  const { issue, thread } = PLACE.exec(to)?.groups ?? {};
  return { issueId: issue, parentId: thread };
}

/**
 * Linear lets a client choose a comment's id, a UUID of version 4. So the id itself is the mark: it begins with "hookli" in
 * ASCII, by which the preset knows our comments, and the rest says which delivery it is.
 */
function toCommentId(idempotencyKey: string): string {
  const digest = hash("sha256", idempotencyKey);
  return `686f6f6b-6c69-4${digest.slice(0, 3)}-8${digest.slice(3, 6)}-${digest.slice(6, 18)}`;
}

/** Linear makes a mention of each address of a profile. https://github.com/linear/linear/issues/351 */
function withoutProfiles(text: string): string {
  return text.replaceAll(/(?<=linear\.app\/\S{0,200}profiles)(?=\/)/gi, "\u200B");
}
