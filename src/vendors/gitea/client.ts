import type { ApiAccess } from "../../core/ports/vendor.ts";
import { openCalls } from "../kit/hook-calls.ts";
import { type Api, type Call, createApi, type OpenApi } from "../kit/http.ts";

/** Completes "The token needs …". */
export const WEBHOOK_ACCESS =
  "the permission repository: Read and Write, for an organization organization: Read and Write";

/**
 * The next step for the operator after a refusal, by the task that the token is for and the status. A limit is one of a
 * proxy: it has the status 429, which is retryable, and `Retry-After`.
 */
const ADVICE = {
  write: new Map([
    [401, "Check channels.gitea.token."],
    [403, "Give the token the permission issue: Read and Write, and its account access to the repository."],
    [404, "Check the recipient, and that the token can see the repository."],
  ]),
  webhooks: new Map([
    [401, "Check the token."],
    [403, `Give the token ${WEBHOOK_ACCESS}, and its account admin access.`],
    [404, "Check the repository or organization, and that the token may see it."],
  ]),
} satisfies Record<string, ReadonlyMap<number, string>>;

/** The API for comments. */
export function createGiteaApi({ token, baseUrl }: { token: string; baseUrl: string }): OpenApi {
  return createApi({ ...toApi("write", baseUrl), token });
}

/** The API for the webhooks of a repository or an organization. */
export function openGitea(access: ApiAccess): Call {
  return openCalls(access, toApi("webhooks", access.baseUrl));
}

function toApi(task: keyof typeof ADVICE, baseUrl = "https://gitea.com"): Api {
  return {
    service: "Gitea",
    baseUrl,
    root: "/api/v1",
    headers: (token) => ({ authorization: `token ${token}` }),
    advice: ADVICE[task],
  };
}
