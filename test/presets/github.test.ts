/** Runs every example payload that GitHub publishes through the preset. */
import { beforeAll, describe, expect, test } from "vitest";
import type { AgentAction, Resolution } from "../../src/core/types.ts";
import { githubExamples } from "../support/vendors/github.ts";
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
    expect(["d1", `pull_request:${Object(payload["pull_request"]).id}`]).toContain(idempotency?.keys[0]);
    expect(action?.sessionKey).toMatch(/^hook:github:[^:#]+\S*$/);
    const message = action?.message ?? "";
    expect(message).toMatch(/^GitHub: \w/);
    expect(message.length).toBeLessThanOrEqual(4000);
    expect(message).not.toMatch(/\[object |\n\n\n|undefined|[:,] \n|[ (]null\b/);
  });
});

const app = { full_name: "acme/app", html_url: "https://github.com/acme/app" };
const issueOf = (number: number, title: string) => ({
  number,
  title,
  html_url: `${app.html_url}/issues/${number}`,
});
const workflowRun = { id: 7, name: "Deploy", html_url: `${app.html_url}/actions/runs/7` };

test.each<[string, object, RegExp, RegExp]>([
  [
    "sub_issues.sub_issue_removed",
    { sub_issue: issueOf(2, "Child"), parent_issue: issueOf(1, "Parent") },
    /issues\/2\n[^]*Sub-issue: #2 Child\nParent: #1 Parent/,
    /^acme\/app#2: Child$/,
  ],
  [
    "issue_dependencies.blocked_by_added",
    { blocked_issue: issueOf(2, "Blocked"), blocking_issue: issueOf(1, "First") },
    /issues\/2\n[^]*Blocked: #2 Blocked\nBlocked by: #1 First/,
    /^acme\/app#2: Blocked$/,
  ],
  [
    "projects_v2_item.edited",
    {
      projects_v2_item: { content_type: "Issue", content_node_id: "I_4" },
      changes: { field_value: { field_name: "Status", from: { name: "Todo" }, to: { name: "Done" } } },
    },
    /Item: Issue I_4\nField: Status, from Todo to Done/,
    /^acme\/app$/,
  ],
  ["projects_v2.closed", { projects_v2: { title: "Roadmap", number: 4 } }, /Project: 4 Roadmap/, /Roadmap/],
  [
    "projects_v2_status_update.created",
    { projects_v2_status_update: { status: "ON_TRACK", body: "All well" } },
    /Status: ON_TRACK\n\nAll well/,
    /^acme\/app$/,
  ],
  [
    "repository_advisory.reported",
    {
      repository_advisory: {
        ghsa_id: "GHSA-1",
        severity: "high",
        summary: "Injection",
        description: "How",
        html_url: "https://github.com/a/1",
      },
    },
    /github.com\/a\/1\n[^]*Advisory: GHSA-1 \(high\): Injection\n\nHow/,
    /Injection/,
  ],
  [
    "security_advisory.published",
    { security_advisory: { ghsa_id: "GHSA-1", severity: "low", summary: "Leak" } },
    /Leak/,
    /Leak/,
  ],
  [
    "repository_vulnerability_alert.create",
    { alert: { affected_package_name: "rack", id: 1 } },
    /acme\/app: rack/,
    /^acme\/app: rack$/,
  ],
  [
    "deployment_review.requested",
    { environment: "production", workflow_run: workflowRun, reviewers: [{ reviewer: { login: "bob" } }] },
    /actions\/runs\/7\n[^]*Environment: production\nWorkflow run: Deploy\nReviewers: bob/,
    /Deploy/,
  ],
  [
    "merge_group.checks_requested",
    { merge_group: { head_sha: "abc", head_ref: "refs/heads/queue", base_ref: "refs/heads/main" } },
    /Merge group: refs\/heads\/queue into refs\/heads\/main, head abc/,
    /^acme\/app$/,
  ],
  [
    "page_build",
    { build: { status: "errored", error: { message: "No layout" } } },
    /Build: errored, No layout/,
    /^acme\/app$/,
  ],
  [
    "workflow_dispatch",
    { workflow: ".github/workflows/a.yml", inputs: { env: "prod" }, ref: "refs/heads/main" },
    /Workflow: .github\/workflows\/a.yml on refs\/heads\/main\nInput env: prod/,
    /main$/,
  ],
  ["repository.renamed", { changes: { repository: { name: { from: "old" } } } }, /Before: old/, /^acme\/app$/],
  [
    "secret_scanning_alert_location.created",
    {
      alert: { number: 5, html_url: "https://github.com/s/5" },
      location: { type: "commit", details: { path: "a.env", start_line: 4 } },
    },
    /github.com\/s\/5\n[^]*Location: commit, a.env line 4/,
    /^acme\/app/,
  ],
  [
    "registry_package.published",
    { registry_package: { name: "app", package_version: { version: "1.2" } } },
    /Package: app 1.2/,
    /^acme\/app$/,
  ],
  ["deploy_key.created", { key: { title: "ci", read_only: false } }, /Key: ci, may write/, /^acme\/app$/],
  ["branch_protection_rule.edited", { rule: { name: "main" } }, /Rule: main/, /^acme\/app$/],
  [
    "repository_ruleset.edited",
    { repository_ruleset: { name: "main", enforcement: "active" } },
    /Rule: main, active/,
    /^acme\/app$/,
  ],
  [
    "organization.member_invited",
    { invitation: { login: "zoe", role: "admin" } },
    /Invited: zoe, admin/,
    /^acme\/app$/,
  ],
  [
    "personal_access_token_request.created",
    { personal_access_token_request: { owner: { login: "bob" }, token_name: "ci" } },
    /Token: ci of bob/,
    /^acme\/app$/,
  ],
])("%s says what it is about", async (event, payload, message, subject) => {
  const [name = "", action] = event.split(".");
  const post = await open({ events: [event] });
  const { actions, subject: shown } = await post(name, {
    action,
    repository: app,
    sender: { login: "ann" },
    ...payload,
  });
  expect(actions).toMatchObject([{ message: expect.stringMatching(message) }]);
  expect(shown).toMatch(subject);
});

const other = { ...app, full_name: "acme/other" };
const family = { sub_issue: issueOf(2, "Child"), parent_issue: issueOf(1, "Parent") };
const dependency = { blocked_issue: issueOf(4, "Later"), blocking_issue: issueOf(3, "First") };

// The repository that is named besides is that of the other issue.
test.each([
  ["sub_issues", "sub_issue_added", { ...family, sub_issue_repo: other }, "#1: Parent"],
  ["sub_issues", "parent_issue_added", { ...family, parent_issue_repo: other }, "#2: Child"],
  ["issue_dependencies", "blocking_added", { ...dependency, blocked_issue_repo: other }, "#3: First"],
  ["issue_dependencies", "blocked_by_added", { ...dependency, blocking_issue_repo: other }, "#4: Later"],
])("%s.%s belongs to the issue of its repository, and is answered there", async (name, action, issues, own) => {
  const post = await open({ events: ["*"], channel: "source" });
  const { actions, subject } = await post(name, { action, repository: app, ...issues });
  const number = own.split(":")[0];
  expect(actions).toMatchObject([{ sessionKey: `hook:github:acme/app${number}`, to: `acme/app${number}` }]);
  expect(subject).toBe(`acme/app${own}`);
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
  const comment = { body: "Why?", user: person, author_association: "MEMBER" };
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
    author_association: "MEMBER",
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
