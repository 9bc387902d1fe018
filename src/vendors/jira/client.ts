import type { ApiAccess } from "../../core/ports/vendor.ts";
import { toObject, toObjects, toText } from "../../core/shared/json.ts";
import { parseRetryAfter } from "../../core/shared/net/network.ts";
import { openCalls } from "../kit/hook-calls.ts";
import { type Api, type Call, createApi, type HttpAnswer, type OpenApi, type Refusal, toBasic } from "../kit/http.ts";

/** Completes "The token needs …". */
export const WEBHOOK_ACCESS = "an account with the permission Administer Jira";

/** The next step for the operator after a refusal, by the task that the token is for and the status. */
const ADVICE = {
  write: new Map([
    [401, "Check channels.jira.token and email."],
    [403, "Give the account permission to add comments, and the token the scopes read:jira-work and write:jira-work."],
    [404, "Check the recipient, and that the account can browse the project."],
  ]),
  webhooks: new Map([
    [401, "Check the token, and channels.jira.email."],
    [403, `The token needs ${WEBHOOK_ACCESS}.`],
    [404, "Check channels.jira.baseUrl: a token with scopes cannot make webhooks."],
  ]),
} satisfies Record<string, ReadonlyMap<number, string>>;

type Task = keyof typeof ADVICE;

const ROOTS: Record<Task, string> = { write: "/rest/api/3", webhooks: "/rest/webhooks/1.0" };

interface JiraAccount {
  token: string;
  /** The account that an API token belongs to. Absent or empty: it is an OAuth token. */
  email?: string;
  baseUrl: string;
}

/** The API for comments on issues. */
export function createJiraApi({ token, ...site }: JiraAccount): OpenApi {
  return createApi({ ...toApi("write", site), token });
}

/** The API for the webhooks of a site. */
export function openJira(access: ApiAccess): Call {
  const { baseUrl = "", account } = access;
  return openCalls(access, toApi("webhooks", { baseUrl, email: toText(account["email"]) }));
}

function toApi(task: Task, { email, baseUrl }: Omit<JiraAccount, "token">): Api {
  return {
    service: "Jira",
    baseUrl,
    root: ROOTS[task],
    headers: (token) => ({
      authorization: email ? toBasic(email, token) : `Bearer ${token}`,
      accept: "application/json",
    }),
    explain: (answer) => explain(answer, task),
  };
}

/** Words a refusal: a limit, which ends, or what the token of the task needs. */
function explain({ status, headers, body }: HttpAnswer, task: Task): Refusal {
  const reason = toReason(body);
  if (status === 429) return { reason, retryable: true, retryAfterMs: toWait(headers) };
  return { reason, advice: ADVICE[task].get(status) };
}

/** The reset is a date. https://developer.atlassian.com/cloud/jira/platform/rate-limiting/ */
function toWait(headers: Headers): number | undefined {
  return parseRetryAfter(headers.get("retry-after")) ?? parseRetryAfter(headers.get("x-ratelimit-reset"));
}

/** Issues have `errorMessages` and `errors`, webhooks `messages` with keys. */
function toReason({ errorMessages, errors, messages, message }: Record<string, unknown>): unknown {
  const [first] = Array.isArray(errorMessages) ? errorMessages : [];
  return first ?? Object.values(toObject(errors))[0] ?? toObjects(messages)[0]?.["key"] ?? message;
}
