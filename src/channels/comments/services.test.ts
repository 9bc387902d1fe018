/** The channels that write comments, each on a double written from its vendor's reference. */
import { describe, expect, test } from "vitest";
import { type CommentServer, type CommentService, startComments } from "../../../test/support/comment-server.ts";
import { shownText } from "../../../test/support/comments.ts";
import { openFaultServer } from "../../../test/support/fault-server.ts";
import { describeRemoteChannel } from "../../contracts/channel.ts";
import type { ChannelDriver } from "../driver.ts";
import { createGitea } from "./gitea.ts";
import { createGitlab } from "./gitlab.ts";
import { createPagerduty } from "./pagerduty.ts";

interface Subject {
  service: CommentService;
  open(baseUrl: string): ChannelDriver;
  to: string;
  unknown: string;
  malformed: string[];
}

const TOKEN = "token-for-tests-0000";

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

/** https://developer.pagerduty.com/api-reference, "Create a note on an incident". */
const pagerduty: CommentService = {
  isAuthorized: (headers) => headers.authorization === `Token token=${TOKEN}` && headers.from === "agent@acme.test",
  refuse: (status) => ({ status, body: { error: { message: "Refused", code: 2100 } } }),
  routes: [
    {
      method: "POST",
      path: /^\/incidents\/Q02JTSNZWHSEKV\/notes$/,
      kind: "add",
      textOf: ({ note }) => (note as { content: unknown }).content,
      toAnswer: ([comment]) => ({ status: 201, body: { note: { id: `P${comment?.id}`, content: comment?.text } } }),
    },
  ],
};

const subjects: Record<string, Subject> = {
  gitlab: {
    service: gitlab,
    open: (baseUrl) => createGitlab({ token: TOKEN, baseUrl }),
    to: "acme/app#12",
    unknown: "acme/other!1",
    malformed: ["", "acme#1", "acme/app", "acme/../app#1", "acme/app#12/d1", "/acme/app#1", "acme/app#0"],
  },
  gitea: {
    service: gitea,
    open: (baseUrl) => createGitea({ token: TOKEN, baseUrl }),
    to: "acme/app#12",
    unknown: "acme/other#1",
    malformed: ["", "acme/app", "acme/..#1", "../app#1", "a/b/c#1", "acme/app!1"],
  },
  pagerduty: {
    service: pagerduty,
    open: (baseUrl) => createPagerduty({ token: TOKEN, from: "agent@acme.test", baseUrl }),
    to: "Q02JTSNZWHSEKV",
    unknown: "Q0000000000000",
    malformed: ["", "q02", "Q02/../x", "Q02JTSNZWHSEKV/notes"],
  },
};

for (const [name, { service, open, ...recipients }] of Object.entries(subjects)) {
  describeRemoteChannel({ describe, test }, name, async () => {
    const server = await startComments(service);
    const { url, ...faultable } = await openFaultServer(server, server.baseUrl);
    return {
      ...faultable,
      ...recipients,
      channel: open(url),
      secret: TOKEN,
      received: async () => server.texts().map(shownText),
      faults: {
        rateLimited: { kind: "answer", status: 429, headers: { "retry-after": "9" }, body: "{}" },
        retryAfterMs: 9000,
        refusedForGood: { kind: "answer", status: 403, body: JSON.stringify(service.refuse(403).body) },
        brokenDown: { kind: "answer", status: 503, body: "<html>" },
      },
    };
  });
}

describe.each(["gitlab", "gitea"])("%s", (name) => {
  const { service, open, to } = subjects[name]!;
  const never = new AbortController().signal;
  const start = async (): Promise<{
    server: CommentServer;
    send: (message?: object) => Promise<{ messageId?: string }>;
  }> => {
    const server = await startComments(service);
    const channel = open(server.baseUrl);
    const message = { to, text: "Hello @ada.", idempotencyKey: "d:0" };
    return { server, send: (change) => channel.send({ ...message, ...change }, never) };
  };

  test("a neutral text with a hidden mark, by which it is found and not written twice", async () => {
    const { server, send } = await start();
    const first = await send();
    expect(server.texts()).toEqual(["Hello @\u200Bada.\n\n<!-- hookline:d:0 -->"]);
    expect(await send({ mayBeSent: true })).toEqual(first);
    expect(server.texts()).toHaveLength(1);
    await send({ mayBeSent: true, idempotencyKey: "d:1" });
    expect(server.texts()).toHaveLength(2);
    await server.close();
  });

  test("an update replaces the text; of a comment that is gone, a new one is written", async () => {
    const { server, send } = await start();
    const { messageId } = await send();
    expect(await send({ text: "Done.", replaces: messageId })).toEqual({ messageId });
    expect(server.texts().map(shownText)).toEqual(["Done."]);
    await send({ text: "Again.", replaces: messageId?.replace(/\d+$/, "99") });
    expect(server.texts().map(shownText)).toEqual(["Done.", "Again."]);
    await server.close();
  });
});

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
