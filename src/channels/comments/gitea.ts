import type { FromSchema } from "json-schema-to-ts";
import type { DriverDefinition } from "../../plugin.ts";
import { HTTP_URL, NON_BLANK } from "../../shared/json.ts";
import { type ChannelDriver, recipientCheck } from "../driver.ts";
import { toRefusal } from "../http.ts";
import { createApi, createCommentChannel, isSuccess, requireId, withMark } from "./comment.ts";
import { ALLOWANCES, neutralize } from "./neutralize.ts";

const schema = {
  type: "object",
  additionalProperties: false,
  description: "Comments on Gitea and Forgejo. The access token needs the permission issue: Read and Write.",
  required: ["token", "baseUrl"],
  properties: {
    token: { ...NON_BLANK, description: "Access token, of an account of the agent's own." },
    ...ALLOWANCES,
    baseUrl: { ...HTTP_URL, description: "The server as people open it: https://git.example.com." },
  },
} as const;

type GiteaOptions = Pick<FromSchema<typeof schema>, "baseUrl" | "token"> & Partial<FromSchema<typeof schema>>;

export const gitea: DriverDefinition<ChannelDriver, GiteaOptions> = { schema, create: createGitea };

const ADVICE = new Map([
  [401, "Check channels.gitea.token."],
  [403, "Give the token the permission issue: Read and Write, and its account access to the repository."],
  [404, "Check the recipient, and that the token can see the repository."],
]);

const PLACE = /^(?<owner>[\w.-]{1,100})\/(?<repo>[\w.-]{1,100})#(?<number>[1-9]\d{0,15})$/;
const DOTS = /(?:^|\/)\.{1,2}(?:[/#]|$)/;

/** Comments on issues and pull requests. */
export function createGitea(options: GiteaOptions): ChannelDriver {
  const { token, baseUrl } = options;
  const { host } = new URL(baseUrl);
  const open = createApi({
    service: "Gitea",
    baseUrl: `${baseUrl.replace(/\/$/, "")}/api/v1`,
    headers: () => ({ authorization: `token ${token}` }),
    toError: (answer) =>
      toRefusal("Gitea", answer, { reason: answer.body["message"], advice: ADVICE.get(answer.status) }),
  });
  const check = recipientCheck(PLACE, "an issue or pull request such as acme/app#12");
  return createCommentChannel(
    {
      name: "gitea",
      limit: 20_000,
      checkRecipient(to) {
        check(DOTS.test(to) ? "" : to);
      },
      render: async ({ text }, mark) => ({ body: withMark(await neutralize(text, { ...options, host }), mark) }),
      async add(to, body, call) {
        const { repo, number } = parsePlace(to);
        const answer = await call("POST", `${repo}/issues/${number}/comments`, body);
        return requireId(answer.body["html_url"], "Gitea");
      },
      async edit(to, messageId, body, call) {
        const id = /#issuecomment-(\d+)$/.exec(messageId)?.[1];
        if (id === undefined) return false;
        return isSuccess(await call("PATCH", `${parsePlace(to).repo}/issues/comments/${id}`, body, "edit"));
      },
      async find(to, mark, call) {
        const { repo, number } = parsePlace(to);
        // It gives all comments since then, oldest first.
        const since = new Date(Date.now() - SEARCH_MS).toISOString();
        const { items = [] } = await call("GET", `${repo}/issues/${number}/comments?since=${since}`);
        const found = items.find(({ body }) => typeof body === "string" && body.endsWith(mark));
        return found && requireId(found["html_url"], "Gitea");
      },
      async startWorking(to, signal) {
        const { repo, number } = parsePlace(to);
        const reactions = `${repo}/issues/${number}/reactions`;
        await (
          await open(signal, to)
        )("POST", reactions, { content: "eyes" });
        return async () => {
          const call = await open(AbortSignal.timeout(REACTION_TIMEOUT_MS), to);
          await call("DELETE", reactions, { content: "eyes" }, "edit");
        };
      },
    },
    open,
  );
}

const SEARCH_MS = 24 * 3_600_000;
const REACTION_TIMEOUT_MS = 10_000;

function parsePlace(to: string): { repo: string; number: string | undefined } {
  const { owner, repo, number } = PLACE.exec(to)?.groups ?? {};
  return { repo: `/repos/${owner}/${repo}`, number };
}
