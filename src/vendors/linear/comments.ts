import type { FromSchema } from "json-schema-to-ts";
import { DriverError } from "../../core/errors.ts";
import type { DriverDefinition } from "../../core/ports/driver.ts";
import { HTTP_URL, isObject, NON_BLANK, toObject, toObjects, objectSchema } from "../../core/shared/json.ts";
import { parseRetryAfter } from "../../core/shared/net/network.ts";
import type { ChannelDriver } from "../../core/ports/channel.ts";
import { createApi, type HttpAnswer, recipientCheck, type Refusal, requireId, toLine, toRefusal } from "../kit/http.ts";
import { createClientTokens } from "../kit/token.ts";
import { createCommentChannel } from "../kit/comments/comment.ts";
import { toMarkedId } from "../kit/comments/mark.ts";
import { ALLOWANCES, neutralize } from "../kit/comments/neutralize.ts";

const schema = {
  description:
    "Comments on Linear's issues. An API key needs the permissions Read and Create comments, an OAuth token the scopes read and comments:create; to edit comments and to show reactions, both need write.",
  ...objectSchema([], {
    token: { ...NON_BLANK, description: "API key of the agent's account, or an OAuth access token." },
    app: {
      description:
        "An OAuth application with client credentials instead of a token. It asks for the scopes read and write.",
      ...objectSchema(["id", "secret"], {
        id: { ...NON_BLANK, description: "Its client id." },
        secret: { ...NON_BLANK, description: "Its client secret." },
      }),
    },
    ...ALLOWANCES,
    baseUrl: { ...HTTP_URL, description: "For tests and proxies. Default: https://api.linear.app." },
  }),
} as const;

type LinearOptions = Partial<FromSchema<typeof schema>>;

export const linear: DriverDefinition<ChannelDriver, LinearOptions> = {
  schema,
  check: ({ token, app }) =>
    (token === undefined) === (app === undefined) ? [{ message: "Set either token or app." }] : [],
  create: createLinear,
};

const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
const RECIPIENT = new RegExp(
  `^(?<issue>[A-Z][A-Z0-9]{0,19}-[1-9]\\d{0,9})(?:/c(?<thread>${UUID})|/s(?<session>${UUID}))?$`,
);

/** Comments on issues, replies in their threads, and the responses of agent sessions. */
export function createLinear(options: LinearOptions): ChannelDriver {
  return createCommentChannel(
    {
      name: "linear",
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

/** Resolves to the data, or to undefined if what is asked about does not exist. */
type Ask = (query: string, variables: object) => Promise<Record<string, unknown> | undefined>;

/** Opens the GraphQL API for the calls of one delivery. https://linear.app/developers/graphql */
function createLinearApi({
  token,
  app,
  baseUrl = "https://api.linear.app",
}: LinearOptions): (signal: AbortSignal) => Promise<Ask> {
  // https://linear.app/developers/oauth-2-0-authentication, "Client credentials tokens"
  const tokens =
    app &&
    createClientTokens({
      ...app,
      service: "Linear",
      url: `${baseUrl.replace(/\/$/, "")}/oauth/token`,
      scope: "read,write",
      advice: "Check channels.linear.app, and that the app may use client credentials.",
    });
  const open = createApi({
    service: "Linear",
    baseUrl,
    token: tokens ? () => tokens : token,
    headers: (used) => ({ authorization: used.startsWith("lin_api_") ? used : `Bearer ${used}` }),
    explain,
  });
  return async (signal) => {
    const call = await open(signal);
    return async (query, variables) => {
      // An error comes with status 400 or 200, also one about a rate limit.
      const answer = await call("POST", "/graphql", { query, variables }, [400]);
      if (answer.status !== 400 && answer.body["errors"] === undefined) return toObject(answer.body["data"]);
      const { type, message } = readError(answer);
      if (/\bnot found\b/i.test(message) && !ADVICE.has(type)) return undefined;
      throw toRefusal("Linear", answer, explain(answer));
    };
  };
}

/** By the `type` of an error. */
const ADVICE = new Map([
  ["authentication error", "Check channels.linear.token or app."],
  ["forbidden", "Give the token the permissions Read and Create comments, and its account access to the team."],
  ["usage limit exceeded", "The workspace's plan allows no more."],
]);
const RETRYABLE_TYPES = new Set(["internal error", "lock timeout", "network error"]);

/** The message may quote the comment. */
function readError({ body }: HttpAnswer): { type: string; message: string; reason: unknown } {
  const { message, extensions } = toObjects(body["errors"])[0] ?? {};
  const { type, userPresentableMessage } = toObject(extensions);
  return { type: toLine(type), message: toLine(message), reason: userPresentableMessage };
}

function explain(answer: HttpAnswer): Refusal {
  const { type, reason } = readError(answer);
  const isRateLimit = type === "ratelimited" || answer.status === 429;
  return {
    reason,
    advice: ADVICE.get(type),
    retryable: isRateLimit || RETRYABLE_TYPES.has(type) || answer.status >= 500,
    ...(isRateLimit && { retryAfterMs: toWait(answer.headers) }),
  };
}

/** Each has separate headers. https://linear.app/developers/rate-limiting */
const LIMITS = ["requests", "complexity", "endpoint-requests"];
/** The complexity of a query here is less. */
const MAX_COMPLEXITY = 10;

/** Until the limits that refused the request are full again. */
function toWait(headers: Headers): number | undefined {
  const exhausted = LIMITS.filter(
    (limit) => Number(headers.get(`x-ratelimit-${limit}-remaining`) ?? Infinity) < MAX_COMPLEXITY,
  );
  const resets = exhausted.map((limit) => Number(headers.get(`x-ratelimit-${limit}-reset`))).filter((at) => at > 0);
  return (
    parseRetryAfter(headers.get("retry-after")) ??
    (resets.length > 0 ? Math.max(0, Math.max(...resets) - Date.now()) : undefined)
  );
}
