import type { ApiAccess } from "../../core/ports/vendor.ts";
import { toObject, toObjects, toText } from "../../core/shared/json.ts";
import { parseRetryAfter } from "../../core/shared/net/network.ts";
import { openCalls } from "../kit/hook-calls.ts";
import { type Api, type Call, createApi, type HttpAnswer, type OpenApi, type Refusal, toBasic } from "../kit/http.ts";

/** Completes "The token needs …". */
export const WEBHOOK_ACCESS =
  "an administrator: `<email>/token:<API token>`, or an OAuth access token that may write webhooks";

/** The next step for the operator after a refusal, by the task that the token is for and the status. */
const ADVICE = {
  write: new Map([
    [401, "Check channels.zendesk.token."],
    [403, "Its owner must be an agent of the ticket's group; an OAuth token needs tickets:read and tickets:write."],
    [404, "Check the recipient, and channels.zendesk.subdomain."],
    [422, "A closed ticket takes no comments."],
  ]),
  webhooks: new Map([
    [401, `Check the token. It needs ${WEBHOOK_ACCESS}.`],
    [403, `The token needs ${WEBHOOK_ACCESS}.`],
    [404, "Check the subdomain."],
  ]),
} satisfies Record<string, ReadonlyMap<number, string>>;

type Task = keyof typeof ADVICE;

export interface ZendeskAccount {
  /** `<email>/token:<API token>`, or an OAuth access token. */
  token: string;
  subdomain?: string;
  baseUrl?: string;
}

/** The API for tickets. */
export function createZendeskApi({ token, ...place }: ZendeskAccount): OpenApi {
  return createApi({ ...toApi("write", place), token });
}

/** The API for webhooks. */
export function openZendesk(access: ApiAccess): Call {
  return openCalls(access, toApi("webhooks", { subdomain: access.place, baseUrl: access.baseUrl }));
}

function toApi(
  task: Task,
  { subdomain = "", baseUrl = `https://${subdomain}.zendesk.com` }: Omit<ZendeskAccount, "token">,
): Api {
  return {
    service: "Zendesk",
    baseUrl,
    root: "/api/v2",
    headers(token) {
      const [user = "", apiToken] = token.split(/(?<=\/token):/, 2);
      return { authorization: apiToken === undefined ? `Bearer ${token}` : toBasic(user, apiToken) };
    },
    explain: (answer) => explain(answer, task),
  };
}

/** Words a refusal: a limit, which ends, or what the token needs. https://developer.zendesk.com/api-reference/introduction/rate-limits/ */
function explain({ status, headers, body }: HttpAnswer, task: Task): Refusal {
  const reason = toReason(body);
  // The reset is in seconds.
  const wait = parseRetryAfter(headers.get("retry-after")) ?? parseRetryAfter(headers.get("ratelimit-reset"));
  return status === 429
    ? { reason, retryable: true, retryAfterMs: wait }
    : { reason, advice: ADVICE[task].get(status) };
}

function toReason(body: Record<string, unknown>): string {
  const error = toObject(toObjects(body["errors"])[0] ?? body["error"]);
  const found = [error["title"], error["message"] ?? error["detail"]].map(toText).filter(Boolean);
  const [detail] = Object.values(toObject(body["details"])).flatMap(toObjects);
  return found.join(": ") || toText(detail?.["description"]) || toText(body["description"]) || toText(body["error"]);
}
