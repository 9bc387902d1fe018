/** The channels that write comments, each on a double written from its vendor's reference. */
import { expect, test } from "vitest";
import { type CommentService, startComments } from "../../../test/support/comment-server.ts";
import { type CommentSubject, describeComments, TOKEN } from "../../../test/support/comment-suite.ts";
import { createGitea } from "./gitea.ts";
import { createGitlab } from "./gitlab.ts";

/** https://docs.gitlab.com/api/notes/ and https://docs.gitlab.com/api/discussions/ */
const gitlab: CommentService = {
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
      toAnswer: () => ({ status: 200, body: {} }),
    },
  ],
};

/** https://docs.gitea.com/api/, under "issue". */
const toGiteaComment = (id: string, text: string, url: string): object => ({
  id: Number(id),
  body: text,
  html_url: `${url}acme/app/issues/12#issuecomment-${id}`,
});
const gitea: CommentService = {
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
      path: /^\/api\/v1\/repos\/acme\/app\/issues\/12\/comments\?since=[\dT:.-]+Z$/,
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

const subjects: Record<string, CommentSubject> = {
  gitlab: {
    service: gitlab,
    open: (baseUrl) => createGitlab({ token: TOKEN, baseUrl }),
    to: "acme/app#12",
    raw: "Hello @\u200Bada.\n\n<!-- hookline:d:0 -->",
    unknown: "acme/other!1",
    malformed: ["", "acme#1", "acme/app", "acme/../app#1", "acme/app#12/d1", "/acme/app#1", "acme/app#0"],
  },
  gitea: {
    service: gitea,
    open: (baseUrl) => createGitea({ token: TOKEN, baseUrl }),
    to: "acme/app#12",
    raw: "Hello @\u200Bada.\n\n<!-- hookline:d:0 -->",
    unknown: "acme/other#1",
    malformed: ["", "acme/app", "acme/..#1", "../app#1", "a/b/c#1", "acme/app!1"],
  },
};

for (const [name, subject] of Object.entries(subjects)) describeComments(name, subject);

test("gitlab replies in a discussion", async () => {
  const server = await startComments(gitlab);
  const channel = createGitlab({ token: TOKEN, baseUrl: server.baseUrl });
  const discussion = "6a9c1750b37d513a43987b574953fceb50b03ce7";
  const message = { to: `acme/app!12/d${discussion}`, text: "Yes.", idempotencyKey: "d:0" };
  await channel.send(message, new AbortController().signal);
  expect(server.requests).toEqual([
    `POST /api/v4/projects/acme%2Fapp/merge_requests/12/discussions/${discussion}/notes`,
  ]);
  await server.close();
});
