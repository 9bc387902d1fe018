import type { FromSchema } from "json-schema-to-ts";
import { DriverError } from "../../core/errors.ts";
import type { ChannelDefinition } from "../../core/ports/driver.ts";
import { isObject, NON_BLANK, toObject, objectSchema } from "../../core/shared/json.ts";
import type { ChannelDriver } from "../../core/ports/channel.ts";
import { recipientCheck, requireId } from "../kit/http.ts";
import { createCommentChannel } from "../kit/comments/comment.ts";
import { toMarkedId } from "../kit/comments/mark.ts";
import { commentOptions } from "../kit/comments/options.ts";
import { neutralize } from "../kit/comments/neutralize.ts";
import { createLinearApi } from "./client.ts";

const schema = {
  description:
    "Comments on Linear's issues. An API key needs the permissions Read and Create comments, an OAuth token the scopes read and comments:create; to edit comments and to show reactions, both need write.",
  ...objectSchema([], {
    ...commentOptions(
      "API key of the agent's account, or an OAuth access token.",
      "For tests and proxies. Default: https://api.linear.app.",
    ),
    app: {
      description:
        "An OAuth application with client credentials instead of a token. It asks for the scopes read and write.",
      ...objectSchema(["id", "secret"], {
        id: { ...NON_BLANK, description: "Its client id." },
        secret: { ...NON_BLANK, description: "Its client secret." },
      }),
    },
  }),
} as const;

type LinearOptions = Partial<FromSchema<typeof schema>>;

export const linear: ChannelDefinition<LinearOptions> = {
  schema,
  check: ({ token, app }) =>
    (token === undefined) === (app === undefined) ? [{ message: "Set either token or app." }] : [],
  create: createLinear,
  about: {
    to: "`ENG-12`, with `/c` and a comment's id its thread, with `/s` and an agent session's id its response",
    needs:
      "API key: *Read* and *Create comments*; OAuth: `read` and `comments:create`; for edits and the mark 👀 also *Write*",
    testedAgainst: "a double that executes Linear's GraphQL schema",
  },
};

const UPLOADS = "uploads.linear.app";

const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
const RECIPIENT = new RegExp(
  `^(?<issue>[A-Z][A-Z0-9]{0,19}-[1-9]\\d{0,9})(?:/c(?<thread>${UUID})|/s(?<session>${UUID}))?$`,
);

/** Comments on issues, replies in their threads, and the responses of agent sessions. */
export function createLinear(options: LinearOptions): ChannelDriver {
  return createCommentChannel(
    {
      name: "linear",
      files: {
        service: "Linear",
        withCredential: [UPLOADS],
        isFile: ({ host }) => host === UPLOADS,
      },
      limit: 20_000,
      addressOf: (to) => to.replace(/\/.*$/, ""),
      checkRecipient: recipientCheck(
        RECIPIENT,
        "an issue such as ENG-12, or one with /c and the id of a thread's first comment, or /s and that of an agent session",
      ),
      toMark: toMarkedId,
      render({ text, isNotice }, toMark) {
        const body = neutralize(text, { ...options, host: "linear.app" });
        const type = isNotice ? "error" : "response";
        return { id: toMark(), type, body: options.allowMentions ? body : withoutProfiles(body) };
      },
      async add(to, { id, type, body }, ask) {
        const { issueId, parentId, agentSessionId } = parseRecipient(to);
        const data = agentSessionId
          ? await ask(RESPOND, { input: { id, agentSessionId, content: { type, body } } })
          : await ask(ADD, { input: { id, body, issueId, parentId } });
        if (!data) throw new DriverError(UNKNOWN, { retryable: false });
        return toMadeId(data);
      },
      async edit(to, id, { body }, ask) {
        // A response cannot be edited.
        if (parseRecipient(to).agentSessionId) return false;
        return (await ask(EDIT, { id, input: { body } })) !== undefined;
      },
      async remove(to, id, ask) {
        if (!parseRecipient(to).agentSessionId) await ask(REMOVE, { id });
      },
      async find(to, id, ask) {
        const data = await ask(parseRecipient(to).agentSessionId ? FIND_RESPONSE : FIND, { id });
        return isObject(data?.["found"]) ? requireId(data["found"]["id"], "Linear") : undefined;
      },
      async startWorking(to, ask) {
        const { issueId, parentId, agentSessionId } = parseRecipient(to);
        if (agentSessionId) {
          // Linear wants a sign within ten seconds. The response replaces it.
          const content = { type: "thought", body: "Working on it." };
          await ask(RESPOND, { input: { agentSessionId, content, ephemeral: true } });
          return undefined;
        }
        const place = parentId ? { commentId: parentId } : { issueId };
        const id = toMadeId((await ask(REACT, { input: { ...place, emoji: "eyes" } })) ?? {});
        return (again) => again(UNREACT, { id });
      },
    },
    createLinearApi(options),
  );
}

const ADD = "mutation ($input: CommentCreateInput!) { done: commentCreate(input: $input) { made: comment { id } } }";
const EDIT =
  "mutation ($id: String!, $input: CommentUpdateInput!) { commentUpdate(id: $id, input: $input) { success } }";
const REMOVE = "mutation ($id: String!) { commentDelete(id: $id) { success } }";
const FIND = "query ($id: String!) { found: comment(id: $id) { id } }";
const RESPOND =
  "mutation ($input: AgentActivityCreateInput!) { done: agentActivityCreate(input: $input) { made: agentActivity { id } } }";
const FIND_RESPONSE = "query ($id: String!) { found: agentActivity(id: $id) { id } }";
const REACT =
  "mutation ($input: ReactionCreateInput!) { done: reactionCreate(input: $input) { made: reaction { id } } }";
const UNREACT = "mutation ($id: String!) { reactionDelete(id: $id) { success } }";

const UNKNOWN =
  "Linear has no such issue, thread or agent session. Check the recipient, and that the token can see it.";

function toMadeId({ done }: Record<string, unknown>): string {
  return requireId(toObject(toObject(done)["made"])["id"], "Linear");
}

function parseRecipient(to: string): Record<"agentSessionId" | "issueId" | "parentId", string | undefined> {
  const { issue, thread, session } = RECIPIENT.exec(to)?.groups ?? {};
  return { issueId: issue, parentId: thread, agentSessionId: session };
}

/** Linear makes a mention of each address of a profile. https://github.com/linear/linear/issues/351 */
function withoutProfiles(text: string): string {
  return text.replaceAll(/(?<=linear\.app\/\S{0,200}profiles)(?=\/)/gi, "\u200B");
}
