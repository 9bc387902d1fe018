/** Doubles of services that take comments, each written from its vendor's reference. */
import { isAdf, shownAdf } from "./adf.ts";
import type { Comment, CommentService } from "./comment-server.ts";
import { TOKEN } from "./comment-suite.ts";
import { withoutMark } from "./comments.ts";

/** https://docs.gitlab.com/api/notes/ and https://docs.gitlab.com/api/discussions/ */
export const gitlab: CommentService = {
  isAuthorized: (headers) => headers["private-token"] === TOKEN,
  refuse: (status) => ({ status, body: { message: `${status} Refused` } }),
  routes: [
    {
      method: "POST",
      path: /^\/api\/v4\/projects\/acme%2Fapp\/(?:issues|merge_requests)\/12(?:\/discussions\/[0-9a-f]{40})?\/notes$/,
      kind: "add",
      textOf: ({ body }) => body,
      toAnswer: ([comment]) => ({ status: 201, body: { id: Number(comment?.id), body: comment?.text } }),
    },
    {
      method: "PUT",
      path: /^\/api\/v4\/projects\/acme%2Fapp\/issues\/12\/notes\/(\d+)$/,
      kind: "edit",
      textOf: ({ body }) => body,
      toAnswer: ([comment]) => ({ status: 200, body: { id: Number(comment?.id) } }),
    },
    {
      method: "GET",
      path: /^\/api\/v4\/projects\/acme%2Fapp\/issues\/12\/notes\?sort=desc&order_by=created_at&per_page=100$/,
      kind: "list",
      textOf: () => "",
      toAnswer: (comments) => ({ status: 200, body: comments.map(({ id, text }) => ({ id: Number(id), body: text })) }),
    },
    {
      method: "POST",
      path: /^\/api\/v4\/projects\/acme%2Fapp\/issues\/12\/award_emoji$/,
      kind: "react",
      textOf: ({ name }) => name,
      toAnswer: () => ({ status: 201, body: { id: 5 } }),
    },
    {
      method: "DELETE",
      path: /^\/api\/v4\/projects\/acme%2Fapp\/issues\/12\/award_emoji\/5$/,
      kind: "react",
      textOf: () => "",
      toAnswer: () => ({ status: 204, body: undefined }),
    },
  ],
};

/** https://docs.gitea.com/api/, under "issue". */
const toGiteaComment = (id: string, text: string, url: string): object => ({
  id: Number(id),
  body: text,
  html_url: `${url}acme/app/issues/12#issuecomment-${id}`,
});
export const gitea: CommentService = {
  isAuthorized: (headers) => headers.authorization === `token ${TOKEN}`,
  refuse: (status) => ({ status, body: { message: "refused" } }),
  routes: [
    {
      method: "POST",
      path: /^\/api\/v1\/repos\/acme\/app\/issues\/12\/comments$/,
      kind: "add",
      textOf: ({ body }) => body,
      toAnswer: ([comment], url) => ({
        status: 201,
        body: toGiteaComment(comment?.id ?? "", comment?.text ?? "", url),
      }),
    },
    {
      method: "PATCH",
      path: /^\/api\/v1\/repos\/acme\/app\/issues\/comments\/(\d+)$/,
      kind: "edit",
      textOf: ({ body }) => body,
      toAnswer: ([comment], url) => ({
        status: 200,
        body: toGiteaComment(comment?.id ?? "", comment?.text ?? "", url),
      }),
    },
    {
      method: "GET",
      path: /^\/api\/v1\/repos\/acme\/app\/issues\/12\/comments$/,
      kind: "list",
      textOf: () => "",
      toAnswer: (comments, url) => ({
        status: 200,
        body: comments.map(({ id, text }) => toGiteaComment(id, text, url)),
      }),
    },
    {
      method: "POST",
      path: /^\/api\/v1\/repos\/acme\/app\/issues\/12\/reactions$/,
      kind: "react",
      textOf: ({ content }) => content,
      toAnswer: () => ({ status: 201, body: { content: "eyes" } }),
    },
    {
      method: "DELETE",
      path: /^\/api\/v1\/repos\/acme\/app\/issues\/12\/reactions$/,
      kind: "react",
      textOf: ({ content }) => content,
      toAnswer: () => ({ status: 200, body: {} }),
    },
  ],
};

/** A comment's text is kept as JSON. */
const toJiraComment = ({ id, text }: Comment): object => ({
  self: `https://acme.atlassian.net/rest/api/3/issue/10012/comment/${id}`,
  id,
  body: JSON.parse(text),
});
const toAdfText = ({ body }: Record<string, unknown>): string | undefined =>
  isAdf(body) ? JSON.stringify(body) : undefined;

/** https://developer.atlassian.com/cloud/jira/platform/rest/v3/api-group-issue-comments/ */
export const jira: CommentService = {
  isAuthorized: ({ authorization }) =>
    authorization === `Basic ${Buffer.from(`agent@acme.test:${TOKEN}`).toString("base64")}`,
  refuse: (status) => ({ status, body: { errorMessages: ["Refused."], errors: {} } }),
  routes: [
    {
      method: "POST",
      path: /^\/rest\/api\/3\/issue\/SHOP-12\/comment$/,
      kind: "add",
      textOf: toAdfText,
      toAnswer: (comments) => ({ status: 201, body: comments.map(toJiraComment)[0] }),
    },
    {
      method: "PUT",
      path: /^\/rest\/api\/3\/issue\/SHOP-12\/comment\/(\d+)$/,
      kind: "edit",
      textOf: toAdfText,
      toAnswer: (comments) => ({ status: 200, body: comments.map(toJiraComment)[0] }),
    },
    {
      method: "GET",
      path: /^\/rest\/api\/3\/issue\/SHOP-12\/comment\?orderBy=-created&maxResults=100$/,
      kind: "list",
      textOf: () => "",
      toAnswer: (comments) => ({
        status: 200,
        body: {
          startAt: 0,
          maxResults: 100,
          total: comments.length,
          comments: comments.toReversed().map(toJiraComment),
        },
      }),
    },
  ],
};

/** What a reader sees of a comment of Jira. */
export function shownJira(text: string): string {
  return withoutMark(shownAdf(JSON.parse(text)));
}
