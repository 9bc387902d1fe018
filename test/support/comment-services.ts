/** Doubles of services that take comments, each written from its vendor's reference. */
import { isAdf, shownAdf } from "./adf.ts";
import { toObject } from "../../src/core/shared/json.ts";
import type { Comment, CommentService } from "./comment-server.ts";
import { TOKEN } from "./comment-suite.ts";
import { shownText, withoutMark } from "./comments.ts";
import { createRestComments } from "./rest-comments.ts";

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

/** The text that a reader sees of a comment of Jira. */
export function shownJira(text: string): string {
  return withoutMark(shownAdf(JSON.parse(text)));
}

/** https://developer.atlassian.com/cloud/bitbucket/rest/, "Pullrequests" and "Issue tracker". */
export const bitbucket: CommentService = createRestComments({
  path: "(?:/2\\.0)?/repositories/acme/app/(?:pullrequests|issues)/12/comments",
  query: "\\?(?=.*sort=-created_on)(?=.*pagelen=100).*",
  textOf: ({ content }) => toObject(content)["raw"],
  show: ({ id, text }) => ({
    type: "pullrequest_comment",
    id: Number(id),
    content: { type: "rendered", raw: text, markup: "markdown", html: `<p>${text}</p>` },
    links: { html: { href: `https://bitbucket.org/acme/app/pull-requests/12/_/diff#comment-${id}` } },
  }),
  wrapList: (values) => ({ pagelen: 100, page: 1, size: values.length, values }),
});

/** https://developer.pagerduty.com/api-reference/, "Notes". */
export const pagerduty: CommentService = createRestComments({
  path: "/incidents/Q02JTSNZWHSEKV/notes",
  isAuthorized: ({ authorization, from, accept }) =>
    authorization === `Token token=${TOKEN}` &&
    (from === undefined || from === "agent@acme.test") &&
    accept === "application/vnd.pagerduty+json;version=2",
  textOf: ({ note }) => toObject(note)["content"],
  show: ({ id, text }) => ({
    id,
    user: { id: "PXPGF42", type: "user_reference", summary: "Agent" },
    channel: { summary: "The PagerDuty website or APIs" },
    content: text,
    created_at: "2026-01-05T15:28:51-05:00",
  }),
  wrap: (note) => ({ note }),
  wrapList: (notes) => ({ notes }),
});

/** Written from Sentry's source, `sentry/issues/endpoints/group_notes.py`: its OpenAPI file does not name comments. */
export const sentry: CommentService = createRestComments({
  path: "/api/0/organizations/acme/issues/(?:4501|SHOP-2F)/comments/",
  end: "/",
  show: ({ id, text }) => ({ id, type: "note", data: { text }, dateCreated: "2026-01-05T09:31:44.118160Z" }),
});

/** https://developer.zendesk.com/api-reference/ticketing/tickets/ticket_comments/: a comment is part of an update of its ticket. */
export const zendesk: CommentService = {
  isAuthorized: ({ authorization }) => authorization === `Bearer ${TOKEN}`,
  refuse: (status) => ({ status, body: { error: { title: "Refused", message: "No." } } }),
  routes: [
    {
      method: "PUT",
      path: /^\/api\/v2\/tickets\/12$/,
      kind: "add",
      textOf: ({ ticket }) => toObject(toObject(ticket)["comment"])["html_body"],
      toAnswer: ([{ id, text } = { id: "", text: "" }]) => ({
        status: 200,
        body: {
          ticket: { id: 12 },
          audit: { id: 1, events: [{ id: Number(id), type: "Comment", public: false, html_body: text }] },
        },
      }),
    },
    {
      method: "GET",
      path: /^\/api\/v2\/tickets\/12\/comments\?sort=-created_at&page(?:\[|%5B)size(?:\]|%5D)=\d+$/,
      kind: "list",
      textOf: () => "",
      toAnswer: (comments) => ({
        status: 200,
        body: {
          comments: comments.toReversed().map(({ id, text }) => ({
            id: Number(id),
            type: "Comment",
            html_body: `<div class="zd-comment">${text}</div>`,
            plain_body: shownHtml(text),
            public: false,
          })),
          meta: { has_more: false },
        },
      }),
    },
  ],
};

/** The text that a reader sees of HTML, without the mark. */
export function shownHtml(html: string): string {
  return shownText(toPlainHtml(html));
}

/** The text of HTML, as events have it. */
export function toPlainHtml(html: string): string {
  return html
    .replaceAll("<br>", "\n")
    .replaceAll(/<[^>]*>/g, "")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&amp;", "&");
}

const toChatwootMessage = ({ id, text }: Comment): object => ({
  id: Number(id),
  content: text,
  conversation_id: 42,
  message_type: 1,
  private: true,
  sender: { id: 9, name: "Agent", type: "user" },
});

/** https://developers.chatwoot.com, "Messages": the last 20 before an id, the newest last. */
export const chatwoot: CommentService = {
  isAuthorized: (headers) => headers["api_access_token"] === TOKEN,
  refuse: (status) => ({ status, body: { error: "Refused." } }),
  routes: [
    {
      method: "POST",
      path: /^\/api\/v1\/accounts\/3\/conversations\/42\/messages$/,
      kind: "add",
      textOf: ({ content, message_type: type }) => (type === "outgoing" ? content : undefined),
      toAnswer: (comments) => ({ status: 200, body: comments.map(toChatwootMessage)[0] }),
    },
    {
      method: "GET",
      path: /^\/api\/v1\/accounts\/3\/conversations\/42\/messages(?:\?before=(\d+))?$/,
      kind: "list",
      textOf: () => "",
      toAnswer: (comments, _url, before = "Infinity") => ({
        status: 200,
        body: {
          meta: {},
          payload: comments
            .filter(({ id }) => Number(id) < Number(before))
            .slice(-20)
            .map(toChatwootMessage),
        },
      }),
    },
  ],
};
