import { hash } from "node:crypto";
import type { FromSchema } from "json-schema-to-ts";
import { DriverError } from "../../errors.ts";
import type { DriverDefinition } from "../../plugin.ts";
import { isObject, toObject } from "../../shared/json.ts";
import { HTTP_URL, NON_BLANK } from "../../shared/schema.ts";
import { parseRetryAfter } from "../../shared/http-status.ts";
import { type ChannelDriver, recipientCheck } from "../driver.ts";
import { type HttpAnswer, request, toLine, toRefusal } from "../http.ts";
import { createCommentChannel, isSuccess, requireId } from "./comment.ts";
import { ALLOWANCES, neutralize } from "./neutralize.ts";

const schema = {
  type: "object",
  additionalProperties: false,
  description:
    "Comments on Linear's issues. An API key needs the permissions Read and Create comments, an OAuth token the scopes read and comments:create; both need write to edit comments and to show reactions.",
  required: ["token"],
  properties: {
    token: { ...NON_BLANK, description: "API key of an account of the agent's own, or OAuth access token of an app." },
    ...ALLOWANCES,
    baseUrl: { ...HTTP_URL, description: "For tests and proxies. Default: https://api.linear.app." },
  },
} as const;

type LinearOptions = Pick<FromSchema<typeof schema>, "token"> & Partial<FromSchema<typeof schema>>;

export const linear: DriverDefinition<ChannelDriver, LinearOptions> = { schema, create: createLinear };

const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
const PLACE = new RegExp(`^(?<issue>[A-Z][A-Z0-9]{0,19}-[1-9]\\d{0,9})(?:/c(?<thread>${UUID}))?$`);

/** What the token may do and what it asks for, by the `type` of an error. */
const ADVICE = new Map([
  ["authentication error", "Check channels.linear.token."],
  ["forbidden", "Give the token the permissions Read and Create comments, and its account access to the team."],
  ["usage limit exceeded", "The workspace's plan allows no more."],
]);
const RETRYABLE_TYPES = new Set(["internal error", "lock timeout", "network error"]);

/** Comments on issues, and replies in their threads. */
export function createLinear(options: LinearOptions): ChannelDriver {
  const open = createApi(options);
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

/** Resolves to the data, or to undefined if what is asked about does not exist. */
type Ask = (query: string, variables: object) => Promise<Record<string, unknown> | undefined>;

/** https://linear.app/developers/graphql */
function createApi({
  token,
  baseUrl = "https://api.linear.app",
}: LinearOptions): (signal: AbortSignal) => Promise<Ask> {
  const url = `${baseUrl.replace(/\/$/, "")}/graphql`;
  const headers = { authorization: token.startsWith("lin_api_") ? token : `Bearer ${token}` };
  return async (signal) => async (query, variables) => {
    const answer = await request({ service: "Linear", url, headers, body: { query, variables }, signal });
    const { data, errors } = answer.body;
    if (isSuccess(answer) && errors === undefined) return toObject(data);
    // The message may quote the comment.
    const { message, extensions } = toObject(Array.isArray(errors) ? errors[0] : undefined);
    const { type, userPresentableMessage } = toObject(extensions);
    if (/\bnot found\b/i.test(toLine(message)) && !ADVICE.has(toLine(type))) return undefined;
    throw toDriverError(answer, { type: toLine(type), reason: userPresentableMessage });
  };
}

/** An error comes with status 400 or 200, also one about a rate limit. */
function toDriverError(answer: HttpAnswer, { type, reason }: { type: string; reason: unknown }): DriverError {
  const isRateLimit = type === "ratelimited" || answer.status === 429;
  return toRefusal("Linear", answer, {
    reason,
    advice: ADVICE.get(type),
    retryable: isRateLimit || RETRYABLE_TYPES.has(type) || answer.status >= 500,
    ...(isRateLimit && { retryAfterMs: toWait(answer.headers) }),
  });
}

/** Each has headers of its own. https://linear.app/developers/rate-limiting */
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
