import type { ApiAccess } from "../../core/ports/vendor.ts";
import { isObject, toObject, toObjects } from "../../core/shared/json.ts";
import { parseRetryAfter } from "../../core/shared/net/network.ts";
import { openCalls } from "../kit/hook-calls.ts";
import {
  type Api,
  type Call,
  createApi,
  type HttpAnswer,
  type OpenApi,
  type Refusal,
  toLine,
  toRefusal,
  toUnreadable,
} from "../kit/http.ts";
import { createClientTokens } from "../kit/token.ts";

const API = "https://api.linear.app";

/** Completes "The token needs …". */
export const WEBHOOK_ACCESS = "the permission Admin";

const PLAN = "The workspace's plan allows no more.";

/** The next step for the operator after a refusal, by the task that the token is for and the type of the error. */
const ADVICE = {
  write: new Map([
    ["authentication error", "Check channels.linear.token or app."],
    ["forbidden", "Give the token the permissions Read and Create comments, and its account access to the team."],
    ["usage limit exceeded", PLAN],
    ["no api", "Check channels.linear.baseUrl."],
  ]),
  webhooks: new Map([
    ["authentication error", "Check the API key."],
    ["forbidden", `The API key needs ${WEBHOOK_ACCESS}.`],
    ["usage limit exceeded", PLAN],
    ["no api", "Check channels.linear.baseUrl."],
  ]),
} satisfies Record<string, ReadonlyMap<string, string>>;

type Task = keyof typeof ADVICE;

/** The type of an error that has none: Linear's own errors have one. */
const TYPES = new Map([
  [401, "authentication error"],
  [403, "forbidden"],
  [404, "no api"],
]);

const RETRYABLE_TYPES = new Set(["internal error", "lock timeout", "network error"]);

/** Asks the GraphQL API. Resolves to the data, or to undefined if what is asked about does not exist. */
export type Ask = (query: string, variables: object) => Promise<Record<string, unknown> | undefined>;

interface LinearAccount {
  token?: string;
  app?: { id: string; secret: string };
  baseUrl?: string;
}

/** Opens the API for the calls of one message. */
interface OpenLinear extends Pick<OpenApi, "authorize"> {
  (signal: AbortSignal): Promise<Ask>;
}

/** Opens the API for the calls of one delivery. https://linear.app/developers/graphql */
export function createLinearApi({ token, app, baseUrl = API }: LinearAccount): OpenLinear {
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
  const open = createApi({ ...toApi("write", baseUrl), token: tokens ? () => tokens : token });
  const openAsk = async (signal: AbortSignal): Promise<Ask> => createAsk(await open(signal), "write");
  return Object.assign(openAsk, { authorize: open.authorize });
}

/** The API for the webhooks of a workspace or a team. */
export function openLinear(access: ApiAccess): Ask {
  return createAsk(openCalls(access, toApi("webhooks", access.baseUrl)), "webhooks");
}

function toApi(task: Task, baseUrl = API): Api {
  return {
    service: "Linear",
    baseUrl,
    // An OAuth token needs `Bearer`, an API key must not have it.
    headers: (token) => ({ authorization: token.startsWith("lin_api_") ? token : `Bearer ${token}` }),
    explain: (answer) => explain(answer, task),
  };
}

/** An error comes with status 400 or 200, also one about a rate limit. */
function createAsk(call: Call, task: Task): Ask {
  return async (query, variables) => {
    const answer = await call("POST", "/graphql", { query, variables }, [400]);
    const { errors, data } = answer.body;
    if (answer.status === 400 || errors !== undefined) {
      const { type, message } = readError(answer);
      if (/\bnot found\b/i.test(message) && !ADVICE[task].has(type)) return undefined;
      throw toRefusal("Linear", answer, explain(answer, task));
    }
    if (!isObject(data)) throw toUnreadable("Linear");
    return data;
  };
}

/** The message may quote what was sent. */
function readError({ status, body }: HttpAnswer): { type: string; code: string; message: string; reason?: unknown } {
  const { message, extensions } = toObjects(body["errors"])[0] ?? {};
  const { type, code, userPresentableMessage: reason } = toObject(extensions);
  return {
    type: toLine(type) || (TYPES.get(status) ?? ""),
    code: toLine(code),
    message: toLine(message),
    ...(reason !== undefined && { reason }),
  };
}

/** Words a refusal: a limit, which ends, or what the token of the task needs. */
function explain(answer: HttpAnswer, task: Task): Refusal {
  const { type, code, message: _, ...said } = readError(answer);
  if (type === "ratelimited" || code === "RATELIMITED" || answer.status === 429) {
    return { ...said, retryable: true, retryAfterMs: toWait(answer.headers) };
  }
  return {
    ...said,
    advice: ADVICE[task].get(type),
    // Linear's errors have status 200 too.
    ...(answer.body["errors"] !== undefined && { retryable: RETRYABLE_TYPES.has(type) || answer.status >= 500 }),
  };
}

/** Each has separate headers. https://linear.app/developers/rate-limiting */
const LIMITS = ["requests", "complexity", "endpoint-requests"];
/** A query here has less: the largest lists a hundred webhooks. */
const MAX_COMPLEXITY = 200;

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
