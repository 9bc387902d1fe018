import type { ApiAccess } from "../../core/ports/vendor.ts";
import { toObject } from "../../core/shared/json.ts";
import { parseRetryAfter } from "../../core/shared/net/network.ts";
import { openCalls } from "../kit/hook-calls.ts";
import { type Api, type Call, createApi, type HttpAnswer, type OpenApi, type Refusal } from "../kit/http.ts";

/** Completes "The token needs …". */
export const WEBHOOK_ACCESS = "permission to write (webhook_subscriptions.write)";

/** The next step for the operator after a refusal, by the task that the token is for and the status. */
const ADVICE = {
  write: new Map([
    [400, "Check channels.pagerduty.from: it is the address of a user of the account."],
    [401, "Check channels.pagerduty.token."],
    [403, "Give the API key permission to write."],
    [404, "Check the recipient."],
  ]),
  webhooks: new Map([
    [401, "Check the API key."],
    [403, `Give the API key ${WEBHOOK_ACCESS}.`],
    [404, "Check what the webhook is for, and that the API key is one of its account."],
  ]),
} satisfies Record<string, ReadonlyMap<number, string>>;

type Task = keyof typeof ADVICE;

interface PagerdutyAccount {
  token: string;
  /** The mail address of the user who writes. */
  from: string;
  baseUrl?: string;
}

/** The API for notes. */
export function createPagerdutyApi({ token, from, baseUrl }: PagerdutyAccount): OpenApi {
  return createApi({ ...toApi("write", baseUrl, { from }), token });
}

/** The API for webhook subscriptions. */
export function openPagerduty(access: ApiAccess): Call {
  return openCalls(access, toApi("webhooks", access.baseUrl));
}

function toApi(task: Task, baseUrl = "https://api.pagerduty.com", headers: Record<string, string> = {}): Api {
  return {
    service: "PagerDuty",
    baseUrl,
    headers: (token) => ({
      authorization: `Token token=${token}`,
      accept: "application/vnd.pagerduty+json;version=2",
      ...headers,
    }),
    explain: (answer) => explain(answer, task),
  };
}

/** Words a refusal: a limit, which ends, or what the token of the task needs. */
function explain({ status, headers, body }: HttpAnswer, task: Task): Refusal {
  const { message: reason } = toObject(body["error"]);
  if (status === 429) return { reason, retryable: true, retryAfterMs: toWait(headers) };
  return { reason, advice: ADVICE[task].get(status) };
}

/** The reset is in seconds. https://developer.pagerduty.com/docs/rest-api-rate-limits */
function toWait(headers: Headers): number | undefined {
  return parseRetryAfter(headers.get("retry-after")) ?? parseRetryAfter(headers.get("ratelimit-reset"));
}
