/** Runs every example payload that GitHub publishes through the preset. */
import { beforeAll, describe, expect, test } from "vitest";
import type { AgentAction, Resolution } from "../../src/types.ts";
import { githubExamples } from "../support/github.ts";
import { usePreset } from "../support/preset.ts";

const examples = githubExamples.flatMap(({ name, examples: payloads }) =>
  payloads.map((payload, index) => ({ title: `${name} ${index}`, name, payload })),
);

type Post = (event: string, payload: unknown) => Promise<Resolution>;

async function open(options: object = {}): Promise<Post> {
  const post = await usePreset("github", options, { github: { token: "t" } });
  return (event, payload) => post(payload, { "x-github-event": event, "x-github-delivery": "d1" });
}

describe("with every event wanted", () => {
  let post: Post;
  beforeAll(async () => {
    post = await open({
      events: ["*"],
      ignore: { bots: false, drafts: false, successes: false, otherPushes: false },
    });
  });

  test.each(examples)("$title is a message with a session, or skipped for a reason", async ({ name, payload }) => {
    const { actions, reason, event, idempotency } = await post(name, payload);
    expect(event).toBe(typeof payload["action"] === "string" ? `${name}.${payload["action"]}` : name);
    if (actions.length === 0) {
      expect(reason).toMatch(/^(it only tests|it deletes a branch|workflow_run tells|the review has no text)/);
      return;
    }
    const [action] = actions as AgentAction[];
    expect(idempotency?.keys).toEqual(["d1"]);
    expect(action?.sessionKey).toMatch(/^hook:github:[^:#]+\S*$/);
    const message = action?.message ?? "";
    expect(message).toMatch(/^GitHub: \w/);
    expect(message.length).toBeLessThanOrEqual(4000);
    expect(message).not.toMatch(/\[object |\n\n\n|undefined|[:,] \n|[ (]null\b/);
  });
});

test("by default only these events lead to actions", async () => {
  const post = await open();
  const acted = new Set<string>();
  for (const { name, payload } of examples) {
    const { actions, event, reason } = await post(name, payload);
    if (actions.length > 0) acted.add(event ?? "");
    else expect(reason).toBeTruthy();
  }
  expect([...acted].toSorted()).toEqual([
    "code_scanning_alert.created",
    "code_scanning_alert.reopened",
    "commit_comment.created",
    "dependabot_alert.created",
    "discussion.created",
    "discussion_comment.created",
    "issue_comment.created",
    "issues.opened",
    "issues.reopened",
    "pull_request.opened",
    "pull_request.ready_for_review",
    "pull_request.reopened",
    "pull_request.review_requested",
    "pull_request_review_comment.created",
    "push",
    "release.published",
    "workflow_run.completed",
  ]);
});

const repository = { full_name: "acme/shop", default_branch: "main" };
const person = { login: "ann", type: "User" };
const pull = { number: 4, title: "T", base: { ref: "main" }, labels: [{ name: "WIP" }] };
const opened = { action: "opened", pull_request: pull, repository, sender: person };

test.each([
  [{ self: "Ann" }, "pull_request", opened, "the agent itself did it (ann)"],
  [{ senders: ["a*"] }, "pull_request", opened, "its sender is ignored (ann)"],
  [{ labels: ["wip"] }, "pull_request", opened, "it has an ignored label (WIP)"],
  [{ branches: ["main"] }, "pull_request", opened, "it is about an ignored branch (main)"],
  [{}, "pull_request", { ...opened, sender: { login: "x[bot]" } }, "a bot did it (x[bot])"],
  [{}, "push", { ref: "refs/tags/v1", repository, commits: [{}] }, "it is not to the default branch (refs/tags/v1)"],
])("ignore %j skips %s", async (ignore, event, payload, reason) => {
  expect(await (await open({ ignore }))(event, payload)).toMatchObject({ actions: [], reason });
});

test("a pull request, its comments and its failed runs are one conversation", async () => {
  const post = await open();
  const issue = { number: 4, pull_request: {} };
  const comment = { body: "Why?", user: person };
  const run = { conclusion: "failure", head_branch: "fix", pull_requests: [{ number: 4 }] };
  const events: [string, object][] = [
    ["pull_request", opened],
    ["issue_comment", { action: "created", issue, comment, repository, sender: person }],
    ["pull_request_review", { ...opened, action: "submitted", review: { state: "approved" } }],
    ["workflow_run", { action: "completed", workflow_run: run, repository, sender: person }],
  ];
  for (const [event, payload] of events) {
    expect((await post(event, payload)).actions).toMatchObject([{ sessionKey: "hook:github:acme/shop#4" }]);
  }
});

test("with the channel source a reply goes to where the event is", async () => {
  const post = await open({ channel: "source" });
  const issue = { number: 4 };
  const comment = {
    id: 9,
    body: "Why?",
    user: person,
    html_url: "https://github.com/acme/shop/issues/4#issuecomment-9",
  };
  const inReview = { ...comment, pull_request_review_id: 3 };
  const run = { conclusion: "failure", head_branch: "fix", pull_requests: [{ number: 5 }] };
  const common = { repository, sender: person };
  const places: [string, object, string | undefined][] = [
    ["pull_request", opened, "acme/shop#4"],
    ["issue_comment", { ...common, action: "created", issue, comment }, "acme/shop#4"],
    ["pull_request_review_comment", { ...opened, action: "created", comment: inReview }, "acme/shop#4/r9"],
    [
      "pull_request_review_comment",
      { ...opened, action: "created", comment: { ...inReview, in_reply_to_id: 7 } },
      "acme/shop#4/r7",
    ],
    ["workflow_run", { ...common, action: "completed", workflow_run: run }, "acme/shop#5"],
    ["discussion", { ...common, action: "created", discussion: { number: 4 } }, "acme/shop/discussions/4"],
    [
      "discussion_comment",
      { ...common, action: "created", discussion: { number: 4 }, comment },
      "acme/shop/discussions/4/r9",
    ],
    [
      "discussion_comment",
      { ...common, action: "created", discussion: { number: 4 }, comment: { ...comment, parent_id: 7 } },
      "acme/shop/discussions/4/r7",
    ],
    [
      "commit_comment",
      { ...common, action: "created", comment: { ...comment, commit_id: "6113728f27ae82c7b1a177c8d03f9e96e0adf246" } },
      "acme/shop/commit/6113728f27ae82c7b1a177c8d03f9e96e0adf246",
    ],
    ["push", { ...common, ref: "refs/heads/main", commits: [{}] }, undefined],
  ];
  for (const [event, payload, to] of places) {
    const expected = to ? { channel: "github", to, deliver: true, toSource: true } : { deliver: false };
    expect((await post(event, payload)).actions).toMatchObject([expected]);
  }
});

test("fields full adds the payload, instructions replaces the preset's own", async () => {
  const post = await open({ fields: "full", instructions: "Be brief." });
  const { actions } = await post("pull_request", opened);
  expect(actions).toMatchObject([
    { instructions: "Be brief.", message: expect.stringContaining(JSON.stringify(opened)) },
  ]);
});
