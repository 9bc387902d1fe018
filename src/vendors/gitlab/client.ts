import type { ApiAccess } from "../../core/ports/vendor.ts";
import { openCalls } from "../kit/hook-calls.ts";
import {
  type Api,
  type Call,
  createApi,
  type HttpAnswer,
  type OpenApi,
  type Refusal,
  untilReset,
} from "../kit/http.ts";

const API = "https://gitlab.com";

/** Completes "The token needs …". */
export const WEBHOOK_ACCESS = "the scope api and the role Maintainer";

/** The next step for the operator after a refusal, by the task that the token is for and the status. */
const ADVICE = {
  write: new Map([
    [401, "Check channels.gitlab.token."],
    [403, "Give the token the scope api and the role Reporter."],
    [404, "Check the recipient, and that the token can see the project."],
  ]),
  webhooks: new Map([
    [401, "Check the token."],
    [403, `Give the token ${WEBHOOK_ACCESS}.`],
    [404, "Check the project or group, and that the token may see it."],
  ]),
} satisfies Record<string, ReadonlyMap<number, string>>;

type Task = keyof typeof ADVICE;

/** The API for notes and reviews. */
export function createGitlabApi({ token, baseUrl }: { token: string; baseUrl?: string }): OpenApi {
  return createApi({ ...toApi("write", baseUrl), token });
}

/** The API for the webhooks of a place, and for what they have missed. */
export function openGitlab(access: ApiAccess): Call {
  return openCalls(access, toApi("webhooks", access.baseUrl));
}

/** The server as people and git open it. */
export function toServer(baseUrl = API): string {
  return baseUrl;
}

/** The host that people open. */
export function toHost(baseUrl = API): string {
  return new URL(baseUrl).host;
}

function toApi(task: Task, baseUrl = API): Api {
  return {
    service: "GitLab",
    baseUrl,
    root: "/api/v4",
    headers: (token) => ({ "private-token": token }),
    explain: (answer) => explain(answer, task),
  };
}

/** The limits of an endpoint are those of a minute, and their answers have no time. https://docs.gitlab.com/security/rate_limits/ */
const LIMIT_MS = 60_000;

/** Words a refusal: a limit, which ends, or what the token of the task needs. */
function explain({ status, headers, body }: HttpAnswer, task: Task): Refusal {
  const reason = toReason(body["message"] ?? body["error"]);
  if (status === 429) {
    return { reason, retryable: true, retryAfterMs: untilReset(headers, "ratelimit-reset") ?? LIMIT_MS };
  }
  return { reason, advice: ADVICE[task].get(status) };
}

/** `{ url: ["is blocked"] }` */
function toReason(message: unknown): unknown {
  return typeof message === "object" && message !== null ? JSON.stringify(message) : message;
}
