import { toObject } from "../../src/core/shared/json.ts";
import type { CommentService } from "./comment-server.ts";
import { TOKEN } from "./comment-suite.ts";

const COMMENTS = "(?:/2\\.0)?/repositories/acme/app/(?:pullrequests|issues)/12/comments";

const toComment = ({ id, text }: { id: string; text: string }): object => ({
  type: "pullrequest_comment",
  id: Number(id),
  content: { type: "rendered", raw: text, markup: "markdown", html: `<p>${text}</p>` },
  links: { html: { href: `https://bitbucket.org/acme/app/pull-requests/12/_/diff#comment-${id}` } },
});
const rawOf = ({ content }: Record<string, unknown>): unknown => toObject(content)["raw"];

/** https://developer.atlassian.com/cloud/bitbucket/rest/, "Pullrequests" and "Issue tracker". */
export const bitbucket: CommentService = {
  isAuthorized: ({ authorization }) => authorization === `Bearer ${TOKEN}`,
  refuse: (status) => ({ status, body: { type: "error", error: { message: "Refused" } } }),
  routes: [
    {
      method: "POST",
      path: new RegExp(`^${COMMENTS}$`),
      kind: "add",
      textOf: rawOf,
      toAnswer: (comments) => ({ status: 201, body: comments.map(toComment)[0] }),
    },
    {
      method: "PUT",
      path: new RegExp(`^${COMMENTS}/(\\d+)$`),
      kind: "edit",
      textOf: rawOf,
      toAnswer: (comments) => ({ status: 200, body: comments.map(toComment)[0] }),
    },
    {
      method: "GET",
      path: new RegExp(`^${COMMENTS}\\?(?=.*sort=-created_on)(?=.*pagelen=100)`),
      kind: "list",
      textOf: () => "",
      toAnswer: (comments) => ({
        status: 200,
        body: { pagelen: 100, page: 1, size: comments.length, values: comments.toReversed().map(toComment) },
      }),
    },
  ],
};
