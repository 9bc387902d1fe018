import type { ApiAccess } from "../../core/ports/vendor.ts";
import { toObject, toObjects, toText } from "../../core/shared/json.ts";
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
  untilReset,
} from "../kit/http.ts";
import { createAppTokens, type GithubApp, type GithubRecipient, signAppToken } from "./app.ts";

const API = "https://api.github.com";

/** Completes "The token needs …". */
export const WEBHOOK_ACCESS = "read and write access to webhooks (classic: admin:repo_hook, admin:org_hook)";

const OF_WEBHOOKS: readonly (readonly [status: number, step: string])[] = [
  [401, "Check the token."],
  [403, `Give the token ${WEBHOOK_ACCESS}.`],
  [404, "Check the repository or organization, and that the token may see its webhooks."],
];

/** The next step for the operator after a refusal, by the task that the token is for and the status. */
const ADVICE = {
  write: new Map([
    [401, "Check channels.github.token or app."],
    [
      403,
      "Give the token write access to the repository's issues and pull requests, or discussions; for changes to its contents too.",
    ],
    [404, "Check the recipient, and that the token can see the repository."],
    [410, "The repository has no issues."],
  ]),
  webhooks: new Map(OF_WEBHOOKS),
  missed: new Map([...OF_WEBHOOKS, [422, "GitHub no longer has the payload of this delivery."]]),
  app: new Map([
    [401, "Check channels.github.app: its id and key."],
    [403, "Check channels.github.app: its permissions."],
    [404, "Install the app on the repository, and check channels.github.app: its id, key and installation."],
    [422, "Check channels.github.app: its permissions."],
  ]),
} satisfies Record<string, ReadonlyMap<number, string>>;

type Task = keyof typeof ADVICE;

/** The API for messages, with either a token or an app. */
export function createGithubApi(
  { baseUrl, token, app }: { baseUrl?: string; token?: string; app?: GithubApp },
  parse: (to: string) => GithubRecipient,
): OpenApi {
  const findTokens = app && createAppTokens(app, createApi(asApp(app, baseUrl)));
  return createApi({
    ...toApi("write", baseUrl),
    token: findTokens ? (to, context) => findTokens(parse(to), context) : token,
  });
}

/** The API for the webhooks of a place, or for what they have missed. */
export function openGithub(access: ApiAccess, task: "webhooks" | "missed"): Call {
  return openCalls(access, toApi(task, access.baseUrl));
}

/** The API as a GitHub App itself. */
export function openAsApp(access: ApiAccess, app: GithubApp): Call {
  return openCalls(access, asApp(app, access.baseUrl));
}

function toApi(task: Task, baseUrl = API): Api {
  return { service: "GitHub", baseUrl, headers: toHeaders, explain: (answer) => explain(answer, task) };
}

function asApp(app: GithubApp, baseUrl?: string): Api {
  const headers = (): Record<string, string> => toHeaders(signAppToken(app, Math.floor(Date.now() / 1000)));
  return { ...toApi("app", baseUrl), token: "", headers };
}

function toHeaders(token: string): Record<string, string> {
  return {
    authorization: `Bearer ${token}`,
    accept: "application/vnd.github+json",
    "x-github-api-version": "2022-11-28",
    "user-agent": "hookline",
  };
}

/** The host that people open: https://ghe.example.com/api/v3 → ghe.example.com */
export function toHost(baseUrl = API): string {
  const { host } = new URL(baseUrl);
  return host === new URL(API).host ? "github.com" : host;
}

/** The server that git and people open: https://ghe.example.com/api/v3 → https://ghe.example.com */
export function toServer(baseUrl = API): string {
  return `${new URL(baseUrl).protocol}//${toHost(baseUrl)}`;
}

/** Asks the GraphQL API. Resolves to the data of an answer. Rejects with a `DriverError`. */
export type Ask = (query: string, variables: object) => Promise<Record<string, unknown>>;

/** Statuses that say what the types of GraphQL's errors say. */
const STATUSES = new Map([
  ["NOT_FOUND", 404],
  ["FORBIDDEN", 403],
  ["INSUFFICIENT_SCOPES", 403],
  ["RATE_LIMITED", 429],
]);

export function createAsk(call: Call, baseUrl = API): Ask {
  // GitHub Enterprise Server has https://<host>/api/graphql beside https://<host>/api/v3.
  const path = /\/v3\/?$/.test(baseUrl) ? "/../graphql" : "/graphql";
  return async (query, variables) => {
    const answer = await call("POST", path, { query, variables });
    const [error] = toObjects(answer.body["errors"]);
    if (!error) return toObject(answer.body["data"]);
    const { type, message } = error;
    // Without a type, it is a failure of GitHub's own.
    const status = typeof type === "string" ? (STATUSES.get(type) ?? 422) : 500;
    const refused = { ...answer, status, body: { message } };
    throw toRefusal("GitHub", refused, explain(refused, "write"));
  };
}

/** Words a refusal: a limit, which ends, or what the token of the task needs. A limit has the status 403 too. */
function explain(answer: HttpAnswer, task: Task): Refusal {
  const reason = toReason(answer);
  const retryAfterMs = toRateLimit(answer);
  if (retryAfterMs !== undefined) return { reason, retryable: true, retryAfterMs };
  return { reason, advice: ADVICE[task].get(answer.status) };
}

/** GitHub explains in `errors` what it does not take: an event, an address, a verdict. */
export function toReason({ body: { message, errors } }: HttpAnswer): string {
  const reasons = (Array.isArray(errors) ? errors : []).map((error) =>
    typeof error === "string" ? error : toText(toObject(error)["message"]),
  );
  return toLine(reasons.filter(Boolean).join("; ") || message);
}

/** GitHub's advice for a secondary limit without a time. */
const SECONDARY_LIMIT_MS = 60_000;

/** https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#exceeding-the-rate-limit */
function toRateLimit({ status, headers, body }: HttpAnswer): number | undefined {
  if (status !== 403 && status !== 429) return undefined;
  if (headers.has("retry-after") || headers.get("x-ratelimit-remaining") === "0") {
    return untilReset(headers, "x-ratelimit-reset") ?? SECONDARY_LIMIT_MS;
  }
  return /secondary rate limit|abuse/i.test(toLine(body["message"])) ? SECONDARY_LIMIT_MS : undefined;
}
