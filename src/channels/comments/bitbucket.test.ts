import { createRequire } from "node:module";
import { expect, test } from "vitest";
import { type CommentService, startComments } from "../../../test/support/comment-server.ts";
import { describeComments, TOKEN } from "../../../test/support/comment-suite.ts";
import { toObject } from "../../shared/json.ts";
import { createBitbucket } from "./bitbucket.ts";

/** Its package is generated from Bitbucket's OpenAPI file. Its types do not compile. */
interface Client {
  repositories: Record<string, (options: object) => Promise<{ data: { id: number; values: { content: object }[] } }>>;
}
const { Bitbucket }: { Bitbucket: new (options: object) => Client } = createRequire(import.meta.url)("bitbucket");

const COMMENTS = "/2\\.0/repositories/acme/app/(?:pullrequests|issues)/12/comments";

const toComment = ({ id, text }: { id: string; text: string }): object => ({
  type: "pullrequest_comment",
  id: Number(id),
  content: { type: "rendered", raw: text, markup: "markdown", html: `<p>${text}</p>` },
  links: { html: { href: `https://bitbucket.org/acme/app/pull-requests/12/_/diff#comment-${id}` } },
});
const rawOf = ({ content }: Record<string, unknown>): unknown => toObject(content)["raw"];

/** https://developer.atlassian.com/cloud/bitbucket/rest/, "Pullrequests" and "Issue tracker". */
const service: CommentService = {
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

const open = (baseUrl: string) => createBitbucket({ token: TOKEN, baseUrl: new URL("2.0", baseUrl).href });

describeComments("bitbucket", {
  service,
  open,
  to: "acme/app!12",
  thread: "acme/app!12/c345",
  unknown: "acme/other!1",
  malformed: ["", "acme!1", "acme/app", "acme/..!1", "../app!1", "acme/app#12/c345", "acme/app!0", "a/b/c!1"],
  raw: "Hello @\u200Bada.\n\n[hookline:d:0]: #",
});

test("Bitbucket's API client finds what it needs in the double", async () => {
  const server = await startComments(service);
  const { repositories } = new Bitbucket({ baseUrl: `${server.baseUrl}2.0`, auth: { token: TOKEN }, notice: false });
  const call = (operation: string, options: object) =>
    repositories[operation]?.({ workspace: "acme", repo_slug: "app", ...options });
  const toBody = (raw: string) => ({ type: "comment", content: { raw } });
  const pull = { pull_request_id: 12 };
  const created = await call("createPullRequestComment", { ...pull, _body: toBody("One.") });
  await call("updatePullRequestComment", { ...pull, comment_id: created?.data.id, _body: toBody("Two.") });
  await call("createIssueComment", { issue_id: "12", _body: toBody("Three.") });
  const listed = await call("listIssueComments", { issue_id: "12", sort: "-created_on", pagelen: 100 });
  expect(listed?.data.values.map(({ content }) => toObject(content)["raw"])).toEqual(["Three.", "Two."]);
  await server.close();
});

test("a reply names its parent; an issue has its own comments", async () => {
  const bodies: unknown[] = [];
  const noted = service.routes.map((route) => ({
    ...route,
    textOf(body: Record<string, unknown>) {
      bodies.push(body["parent"]);
      return route.textOf(body);
    },
  }));
  const server = await startComments({ ...service, routes: noted });
  const channel = open(server.baseUrl);
  const message = { text: "Yes.", idempotencyKey: "d:0" };
  const never = new AbortController().signal;
  const reply = await channel.send({ ...message, to: "acme/app!12/c345" }, never);
  const comment = await channel.send({ ...message, to: "acme/app#12" }, never);
  expect(bodies).toEqual([{ id: 345 }, undefined]);
  expect([reply, comment]).toEqual([{ messageId: "pullrequest-comment-1" }, { messageId: "issue-comment-2" }]);
  expect(server.requests[1]).toBe("POST /2.0/repositories/acme/app/issues/12/comments");
  await server.close();
});

test("an API token is sent with the address of its account", async () => {
  const basic = `Basic ${Buffer.from(`agent@acme.test:${TOKEN}`).toString("base64")}`;
  const server = await startComments({ ...service, isAuthorized: ({ authorization }) => authorization === basic });
  const channel = createBitbucket({ token: TOKEN, email: "agent@acme.test", baseUrl: `${server.baseUrl}2.0` });
  await channel.send({ to: "acme/app!12", text: "Yes.", idempotencyKey: "d:0" }, new AbortController().signal);
  expect(server.texts()).toHaveLength(1);
  await server.close();
});
