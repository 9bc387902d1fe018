import { createRequire } from "node:module";
import { expect, test } from "vitest";
import { startComments } from "../../../test/support/comment-server.ts";
import { describeComments, TOKEN } from "../../../test/support/comment-suite.ts";
import { bitbucket } from "../../../test/support/comment-services.ts";
import { toObject } from "../../core/shared/json.ts";
import { createBitbucket } from "./comments.ts";

/** Its package is generated from Bitbucket's OpenAPI file. Its types do not compile. */
interface Client {
  repositories: Record<string, (options: object) => Promise<{ data: { id: number; values: { content: object }[] } }>>;
}
const { Bitbucket }: { Bitbucket: new (options: object) => Client } = createRequire(import.meta.url)("bitbucket");

const open = (baseUrl: string) => createBitbucket({ token: TOKEN, baseUrl: new URL("2.0", baseUrl).href });

describeComments("bitbucket", {
  service: bitbucket,
  open,
  to: "acme/app!12",
  thread: "acme/app!12/c345",
  unknown: "acme/other!1",
  malformed: ["", "acme!1", "acme/app", "acme/..!1", "../app!1", "acme/app#12/c345", "acme/app!0", "a/b/c!1"],
  raw: "Hello @\u200Bada.\n\n[hookline:d:0]: #",
});

test("Bitbucket's API client finds what it needs in the double", async () => {
  const server = await startComments(bitbucket);
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
  const noted = bitbucket.routes.map((route) => ({
    ...route,
    textOf(body: Record<string, unknown>) {
      bodies.push(body["parent"]);
      return route.textOf(body);
    },
  }));
  const server = await startComments({ ...bitbucket, routes: noted });
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
  const server = await startComments({ ...bitbucket, isAuthorized: ({ authorization }) => authorization === basic });
  const channel = createBitbucket({ token: TOKEN, email: "agent@acme.test", baseUrl: `${server.baseUrl}2.0` });
  await channel.send({ to: "acme/app!12", text: "Yes.", idempotencyKey: "d:0" }, new AbortController().signal);
  expect(server.texts()).toHaveLength(1);
  await server.close();
});
