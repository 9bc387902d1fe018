/** An agent whose reply is a review with comments on lines. */
import { createHmac, randomUUID } from "node:crypto";
import { afterEach, describe, expect, test } from "vitest";
import { shownText } from "./support/comments.ts";
import { findProblems } from "./support/config.ts";
import { startGithub } from "./support/vendors/github-server.ts";
import { startGithubReviews } from "./support/vendors/github-reviews.ts";
import { startGitlabReviews } from "./support/gitlab-reviews.ts";
import { type ModelServer, startModels } from "./support/models.ts";
import { type Service, startService } from "./support/service.ts";

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of cleanUp.splice(0).toReversed()) await step();
});

const SECRET = "secret-of-the-sender-0123456789";
const head = "a".repeat(40);
const PATCH = "@@ -1,2 +1,3 @@\n one\n-two\n+2\n+3\n";

function reply(verdict: string, line = 2): string {
  const comments = [
    { file: "cart.ts", line, text: "This empties the cart. Ask @ann." },
    { file: "cart.ts", line: 90, text: "And this." },
  ];
  return `One problem.\n\n\`\`\`review\n${JSON.stringify({ verdict, comments })}\n\`\`\``;
}

async function openService(
  preset: string,
  given: object,
  channel: object,
): Promise<{ service: Service; models: ModelServer }> {
  const models = await startModels();
  const providers = { local: { kind: "openai-compatible", baseUrl: models.baseUrl } } as const;
  const service = await startService({
    config: {
      agents: { providers, defaults: { model: "local/m" } },
      hooks: { presets: [{ use: preset, with: { secret: SECRET, channel: "source", ...given } }] },
      channels: { [preset]: channel },
    },
  });
  cleanUp.push(models.close, service.close);
  return { service, models };
}

describe("github", () => {
  const pull = {
    number: 1,
    title: "Faster cart",
    base: { ref: "main" },
    head: { ref: "cart", sha: head },
    user: { login: "ann" },
  };
  const about = {
    repository: { full_name: "acme/app", default_branch: "main" },
    sender: { login: "ann", type: "User" },
  };

  async function open(given: object) {
    const github = await startGithub();
    const diffs = { [head]: [{ filename: "cart.ts", patch: PATCH }] };
    const server = await startGithubReviews(github, { number: 1, base: "b".repeat(40), head, author: "ann", diffs });
    cleanUp.push(github.close, server.close);
    return {
      server,
      github,
      ...(await openService("github", given, { token: github.token, baseUrl: server.baseUrl })),
    };
  }

  async function send(service: Service, event: string, payload: object) {
    const body = JSON.stringify({ ...payload, ...about });
    const response = await fetch(`${service.url}/hooks/github`, {
      method: "POST",
      body,
      headers: {
        "content-type": "application/json",
        "x-github-event": event,
        "x-github-delivery": randomUUID(),
        "x-hub-signature-256": `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`,
      },
    });
    if (response.status === 204) return { status: 204 };
    const { eventId } = (await response.json()) as { eventId: string };
    return { status: response.status, event: await service.settled(eventId) };
  }

  const opened = { action: "opened", pull_request: pull };

  test("a reply with a block is a review; a line outside of the diff is in its text", async () => {
    const { service, models, server } = await open({ review: "request-changes" });
    models.reply(reply("request-changes"));
    const { event } = await send(service, "pull_request", opened);
    expect(event.deliveries).toMatchObject([{ state: "sent", partsSent: 1, warnings: [] }]);
    expect(server.reviews).toMatchObject([
      { event: "REQUEST_CHANGES", commit_id: head, comments: [{ path: "cart.ts", line: 2, side: "RIGHT" }] },
    ]);
    expect(shownText(server.reviews[0]?.body ?? "")).toBe("One problem.\n\n`cart.ts`, line 90:\n\nAnd this.");
    const asked = JSON.stringify(models.lastMessages());
    expect(asked).toContain("```review");
    expect(asked).toContain("request-changes");
    expect(asked).not.toContain('or \\\\\\"approve');
  });

  test("the events about the agent's own review lead to no action", async () => {
    const { service, models, server } = await open({ review: true });
    models.reply(reply("comment"));
    await send(service, "pull_request", opened);
    const [review] = server.reviews;
    const submitted = { action: "submitted", pull_request: pull, review: { ...review, state: "commented" } };
    const commented = { action: "created", pull_request: pull, comment: { ...review?.comments[0], id: 1 } };
    expect(await send(service, "pull_request_review", submitted)).toEqual({ status: 204 });
    expect(await send(service, "pull_request_review_comment", commented)).toEqual({ status: 204 });
  });

  test("a verdict that the mapping does not allow is a comment, with a warning", async () => {
    const { service, models, server } = await open({ review: true });
    models.reply(reply("approve"));
    const { event } = await send(service, "pull_request", opened);
    expect(event.deliveries).toMatchObject([
      { state: "sent", warnings: [expect.stringMatching(/"approve".* does not allow/)] },
    ]);
    expect(server.reviews.map((review) => review.event)).toEqual(["COMMENT"]);
  });

  test("a block that cannot be used is shown as text, with a warning", async () => {
    const { service, models, server, github } = await open({ review: true });
    models.reply(reply("merge"));
    const { event } = await send(service, "pull_request", opened);
    expect(event.deliveries).toMatchObject([
      { state: "sent", warnings: [expect.stringMatching(/^The review block cannot be used: verdict must be one of/)] },
    ]);
    expect(server.reviews).toEqual([]);
    expect((await github.comments()).map(shownText)).toEqual([reply("merge")]);
  });

  test("a commit that is not in the pull request leads to no review", async () => {
    const { service, models, server, github } = await open({ review: "approve" });
    models.reply(reply("approve"));
    const other = { ...opened, pull_request: { ...pull, head: { ref: "cart", sha: "c".repeat(40) } } };
    await send(service, "pull_request", other);
    expect(server.reviews).toEqual([]);
    expect((await github.comments()).map(shownText)).toEqual([expect.stringMatching(/^One problem\.[^]*And this\.$/)]);
  });
});

test("gitlab", async () => {
  const token = "token-for-tests-0000";
  const server = await startGitlabReviews({
    token,
    head,
    diffs: [{ new_path: "cart.ts", old_path: "cart.ts", diff: PATCH }],
  });
  cleanUp.push(server.close);
  const { service, models } = await openService("gitlab", { review: "approve" }, { token, baseUrl: server.baseUrl });
  models.reply(reply("approve"));
  const payload = {
    object_kind: "merge_request",
    user: { username: "ann" },
    project: { path_with_namespace: "acme/app", default_branch: "main", visibility_level: 0 },
    object_attributes: { iid: 12, action: "open", title: "Faster cart", last_commit: { id: head } },
  };
  const response = await fetch(`${service.url}/hooks/gitlab`, {
    method: "POST",
    body: JSON.stringify(payload),
    headers: { "content-type": "application/json", "x-gitlab-token": SECRET, "x-gitlab-event": "Merge Request Hook" },
  });
  const { eventId } = (await response.json()) as { eventId: string };
  expect((await service.settled(eventId)).deliveries).toMatchObject([{ state: "sent", warnings: [] }]);
  expect(server.notes.map(({ body }) => shownText(body))).toEqual([
    "This empties the cart. Ask @ann.",
    "One problem.\n\n`cart.ts`, line 90:\n\nAnd this.",
  ]);
  expect(server.approvals).toEqual([head]);
});

describe("a configuration", () => {
  const channels = { github: { token: "t" } };
  const mapping = {
    id: "m",
    match: { path: "m" },
    messageTemplate: "x",
    review: true,
    channel: "source",
    source: { channel: "github", to: "{{to}}", commit: "{{sha}}" },
  };
  const check = (change: object) =>
    findProblems({ hooks: { enabled: true, token: "t".repeat(32), mappings: [{ ...mapping, ...change }] }, channels });

  test.each([
    [{ channel: "github", to: "acme/app#1" }, /review: A review goes to the place of the event/],
    [{ source: { channel: "github", to: "{{to}}" } }, /review: The source names no commit/],
    [{ update: true }, /update: A review replaces no earlier reply/],
  ])("%j is a problem", async (change, problem) => {
    expect((await check({})).errors).toEqual([]);
    expect((await check(change)).errors).toEqual([expect.stringMatching(problem)]);
  });

  test("without an agent there is no review", async () => {
    expect((await check({ agent: "none" })).warnings).toContainEqual(
      expect.stringMatching(/review: This setting has no effect/),
    );
  });
});
