import type { ApiAccess } from "../../core/ports/vendor.ts";
import { toText } from "../../core/shared/json.ts";
import { parseRetryAfter } from "../../core/shared/net/network.ts";
import { openCalls } from "../kit/hook-calls.ts";
import { type Api, type Call, createApi, type HttpAnswer, type OpenApi, type Refusal, toBasic } from "../kit/http.ts";

const API = "https://api.bitbucket.org/2.0";

/** Completes "The token needs …". */
export const WEBHOOK_ACCESS = "the permissions Webhooks: Read and Write";

/** The next step for the operator after a refusal, by the task that the token is for and the status. */
const ADVICE = {
  write: new Map([
    [401, "Check channels.bitbucket.token, and set email if it is an API token."],
    [403, "Give the token the permission Pull requests: Write, for issues Issues: Write."],
    [404, "Check the recipient, and that the token can see the repository."],
  ]),
  webhooks: new Map([
    [401, "Check the token, and channels.bitbucket.email if it is an API token."],
    [403, `Give the token ${WEBHOOK_ACCESS}, and its account admin access.`],
    [404, "Check the repository or workspace, and that the token may see it."],
  ]),
} satisfies Record<string, ReadonlyMap<number, string>>;

type Task = keyof typeof ADVICE;

interface BitbucketAccount {
  token: string;
  /** The account that an API token belongs to. Absent or empty: it is an access token. */
  email?: string;
  baseUrl?: string;
}

/** The API for comments. */
export function createBitbucketApi({ token, email, baseUrl }: BitbucketAccount): OpenApi {
  return createApi({ ...toApi("write", email, baseUrl), token });
}

/** The API for the webhooks of a repository or a workspace. */
export function openBitbucket(access: ApiAccess): Call {
  return openCalls(access, toApi("webhooks", toText(access.account["email"]), access.baseUrl));
}

/** The host that people open. */
export function toHost(baseUrl = API): string {
  return new URL(baseUrl).host.replace(/^api\./, "");
}

function toApi(task: Task, email = "", baseUrl = API): Api {
  return {
    service: "Bitbucket",
    baseUrl,
    headers: email === "" ? undefined : (token) => ({ authorization: toBasic(email, token) }),
    explain: (answer) => explain(answer, task),
  };
}

/** Each minute makes room for some of an hour's requests. https://support.atlassian.com/bitbucket-cloud/docs/api-request-limits/ */
const LIMIT_MS = 60_000;

/** Words a refusal: a limit, which ends, or what the token of the task needs. */
function explain({ status, headers }: HttpAnswer, task: Task): Refusal {
  if (status === 429) return { retryable: true, retryAfterMs: parseRetryAfter(headers.get("retry-after")) ?? LIMIT_MS };
  return { advice: ADVICE[task].get(status) };
}
