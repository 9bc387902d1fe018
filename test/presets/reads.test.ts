/**
 * The reads of presets for context: each read of a built-in preset, beside a double of the vendor's API whose answers have the shape
 * of the vendor's reference, which is named.
 */
import { readFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { UserConfig } from "../../src/core/config/schema/generated.ts";
import { findPresets, readPreset } from "../../src/core/config/presets/file.ts";
import { findProblems } from "../support/config.ts";
import { type ModelServer, startModels } from "../support/models.ts";
import { type Service, startService } from "../support/service.ts";

let models: ModelServer;
let service: Service | undefined;
let server: Server;
let asked: { url: string; headers: IncomingHttpHeaders }[];
/** By path with query; a number is a status, a text that begins with http a redirect. */
let answers: Record<string, number | string | object>;
let baseUrl: string;

beforeEach(async () => {
  models = await startModels();
  models.reply("Seen.");
  [asked, answers] = [[], {}];
  server = createServer((request, response) => {
    const { url = "", headers } = request;
    asked.push({ url, headers });
    const answer = answers[url] ?? 404;
    if (typeof answer === "number") response.writeHead(answer).end("no");
    else if (typeof answer !== "string") response.end(JSON.stringify(answer));
    else if (answer.startsWith("http")) response.writeHead(302, { location: answer }).end();
    else response.end(answer);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  baseUrl = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
});
afterEach(async () => {
  await service?.close();
  service = undefined;
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await models.close();
});

function toConfig(preset: string, options: object, channels: UserConfig["channels"]): UserConfig {
  return {
    agents: {
      providers: { local: { kind: "openai-compatible", baseUrl: models.baseUrl } },
      defaults: { model: "local/small" },
    },
    hooks: {
      presets: [
        {
          use: preset,
          with: {
            deliver: false,
            wakeMode: "next-heartbeat",
            ...(preset === "slack" && { mention: false }),
            ...options,
          },
        },
      ],
    },
    channels,
  };
}

function sample(preset: string, name: string): { payload: object; headers: Record<string, string> } {
  const read = (file: string): object =>
    JSON.parse(readFileSync(new URL(`../../presets/${preset}/samples/${file}`, import.meta.url), "utf8"));
  let headers = {};
  try {
    ({ headers } = { headers: {}, ...read(`${name}.request.json`) });
  } catch {
    // The sample needs no headers.
  }
  return { payload: read(`${name}.json`), headers };
}

/** The prompt of the sample's turn. */
async function promptFor(
  preset: string,
  name: string,
  options: object,
  channels: UserConfig["channels"] = {},
): Promise<string> {
  service = await startService({ config: toConfig(preset, { events: ["*"], ...options }, channels) });
  const { payload, headers } = sample(preset, name);
  const response = await service.post(preset, payload, headers);
  expect(response.status).toBeLessThan(300);
  await expect.poll(() => models.conversations().length, { timeout: 20_000 }).toBeGreaterThan(0);
  return String(models.lastMessages().at(-1)?.content);
}

const PATCH = "diff --git a/src/a.ts b/src/a.ts\n--- a/src/a.ts\n+++ b/src/a.ts\n@@ -9,2 +9,2 @@\n same\n-old\n+new\n";
const NUMBERED = "    9  same\n   10 -old\n   10 +new";

interface Case {
  preset: string;
  read: string;
  sample: string;
  channels(): UserConfig["channels"];
  answers: typeof answers;
  authorization: Record<string, string>;
  shown: string;
  hidden?: string;
}

const GITHUB = { channels: () => ({ github: { token: "t", baseUrl } }), authorization: { authorization: "Bearer t" } };
const GITLAB = { channels: () => ({ gitlab: { token: "t", baseUrl } }), authorization: { "private-token": "t" } };
const GITEA = { channels: () => ({ gitea: { token: "t", baseUrl } }), authorization: { authorization: "token t" } };

const CASES: Case[] = [
  {
    // https://docs.github.com/en/rest/pulls/pulls#get-a-pull-request
    ...GITHUB,
    preset: "github",
    read: "diff",
    sample: "pull-request-opened",
    answers: { "/repos/acme/shop/pulls/42": PATCH },
    shown: NUMBERED,
  },
  {
    // https://docs.github.com/en/rest/pulls/pulls#list-pull-requests-files
    ...GITHUB,
    preset: "github",
    read: "files",
    sample: "pull-request-opened",
    answers: {
      "/repos/acme/shop/pulls/42/files?per_page=100": [
        { filename: "src/a.ts", status: "modified", additions: 3, deletions: 1, patch: "@@" },
      ],
    },
    shown: "modified src/a.ts, +3 −1",
  },
  {
    // https://docs.github.com/en/rest/issues/comments#list-issue-comments
    ...GITHUB,
    preset: "github",
    read: "comments",
    sample: "issue-comment",
    answers: {
      "/repos/acme/shop/issues/37/comments?per_page=100": [
        { user: { login: "ann" }, created_at: "2026-01-05T10:00:00Z", body: "Me too." },
      ],
    },
    shown: "ann, 2026-01-05T10:00:00Z:\nMe too.",
  },
  {
    // https://docs.gitlab.com/api/merge_requests/#list-merge-request-diffs
    ...GITLAB,
    preset: "gitlab",
    read: "diff",
    sample: "merge-request-open",
    answers: {
      "/api/v4/projects/acme%2Fshop/merge_requests/42/diffs?per_page=100": [
        { old_path: "src/a.ts", new_path: "src/a.ts", diff: "@@ -9,2 +9,2 @@\n same\n-old\n+new\n" },
      ],
    },
    shown: `+++ b/src/a.ts\n@@ -9,2 +9,2 @@\n${NUMBERED}`,
  },
  {
    // https://docs.gitlab.com/api/notes/#list-all-merge-request-notes
    ...GITLAB,
    preset: "gitlab",
    read: "comments",
    sample: "merge-request-comment",
    answers: {
      "/api/v4/projects/acme%2Fshop/merge_requests/42/notes?sort=asc&order_by=created_at&per_page=100": [
        { author: { username: "ann" }, created_at: "2026-01-05", body: "Why?", system: false },
        { author: { username: "ann" }, created_at: "2026-01-05", body: "assigned", system: true },
      ],
    },
    shown: "ann, 2026-01-05:\nWhy?",
  },
  {
    // https://docs.gitlab.com/api/jobs/#list-pipeline-jobs, #get-a-log-file
    ...GITLAB,
    preset: "gitlab",
    read: "failed-log",
    sample: "pipeline-failed",
    answers: {
      "/api/v4/projects/acme%2Fshop/pipelines/3100/jobs?scope%5B%5D=failed&per_page=100": [
        { id: 5, name: "test", status: "failed" },
      ],
      "/api/v4/projects/acme%2Fshop/jobs/5/trace?scope%5B%5D=failed&per_page=100":
        "npm test\n1 failed\nERROR: Job failed: exit code 1\n",
    },
    shown: "test:\nnpm test\n1 failed\nERROR: Job failed: exit code 1",
  },
  {
    // https://docs.sentry.io/api/events/retrieve-an-issue-event/
    preset: "sentry",
    read: "event",
    sample: "issue-created",
    channels: () => ({ sentry: { token: "t", organization: "acme", baseUrl } }),
    authorization: { authorization: "Bearer t" },
    answers: {
      "/api/0/organizations/acme/issues/4501/events/latest/": {
        title: "TypeError: x is undefined",
        dateCreated: "2026-01-05T10:00:00Z",
        culprit: "pay",
        entries: [
          {
            type: "exception",
            data: {
              values: [
                {
                  type: "TypeError",
                  value: "x is undefined",
                  stacktrace: {
                    frames: [
                      {
                        filename: "src/pay.js",
                        function: "charge",
                        lineNo: 12,
                        inApp: true,
                        context: [
                          [11, "const y = 1;"],
                          [12, "return x.total;"],
                        ],
                      },
                    ],
                  },
                },
              ],
            },
          },
        ],
        tags: [{ key: "level", value: "error" }],
      },
    },
    shown: "TypeError: x is undefined\n  src/pay.js:12 in charge (own code)\n    > return x.total;",
  },
  {
    // https://developer.pagerduty.com/api-reference/a1ac30885eb7a-list-notes-for-an-incident
    preset: "pagerduty",
    read: "notes",
    sample: "incident-triggered",
    channels: () => ({ pagerduty: { token: "t", from: "a@example.com", baseUrl } }),
    authorization: { authorization: "Token token=t" },
    answers: {
      "/incidents/Q1CHECKOUT/notes": {
        notes: [{ user: { summary: "Ann" }, created_at: "2026-01-05", content: "Looking." }],
      },
    },
    shown: "Ann, 2026-01-05:\nLooking.",
  },
  {
    // https://developer.zendesk.com/api-reference/ticketing/tickets/ticket_comments/#list-comments
    preset: "zendesk",
    read: "comments",
    sample: "comment-added",
    channels: () => ({ zendesk: { token: "a@example.com/token:t", baseUrl } }),
    authorization: { authorization: `Basic ${btoa("a@example.com/token:t")}` },
    answers: {
      "/api/v2/tickets/5158/comments?sort=-created_at&page%5Bsize%5D=20": {
        comments: [
          { author_id: 9, created_at: "2026-01-06", plain_body: "A secret.", public: false },
          { author_id: 8, created_at: "2026-01-05", plain_body: "It is lost.", public: true },
        ],
      },
    },
    hidden: "A secret.",
    shown: "author 8, 2026-01-05:\nIt is lost.",
  },
  {
    // https://developers.chatwoot.com, "Get messages"
    preset: "chatwoot",
    read: "messages",
    sample: "message",
    channels: () => ({ chatwoot: { token: "t", baseUrl } }),
    authorization: { api_access_token: "t" },
    answers: {
      "/api/v1/accounts/3/conversations/42/messages?filter_internal_messages=true": {
        payload: [{ content: "It failed.", created_at: 1767603600, message_type: 0, sender: { name: "Ann" } }],
      },
    },
    shown: "Ann (customer), 2026-01-05 09:00 UTC:\nIt failed.",
  },
  {
    // https://docs.gitea.com/api/next/ repoDownloadPullDiffOrPatch
    ...GITEA,
    preset: "gitea",
    read: "diff",
    sample: "review-rejected",
    answers: { "/api/v1/repos/acme/shop/pulls/42.diff": PATCH },
    shown: NUMBERED,
  },
  {
    // https://docs.gitea.com/api/next/ issueGetComments
    ...GITEA,
    preset: "gitea",
    read: "comments",
    sample: "issue-comment",
    answers: {
      "/api/v1/repos/acme/shop/issues/37/comments": [
        { user: { login: "ann" }, created_at: "2026-01-05", body: "Me too." },
      ],
    },
    shown: "ann, 2026-01-05:\nMe too.",
  },
  {
    // https://developer.atlassian.com/cloud/jira/platform/rest/v3/api-group-issue-comments/
    preset: "jira",
    read: "comments",
    sample: "issue-created",
    channels: () => ({ jira: { token: "t", email: "a@example.com", baseUrl } }),
    authorization: { authorization: `Basic ${Buffer.from("a@example.com:t").toString("base64")}` },
    answers: {
      "/rest/api/3/issue/SHOP-42/comment?orderBy=created&maxResults=100&expand=renderedBody": {
        comments: [{ author: { displayName: "Ann" }, created: "2026-01-05", renderedBody: "<p>Me too.</p>" }],
      },
    },
    shown: "Ann, 2026-01-05:\n<p>Me too.</p>",
  },
  {
    // https://docs.slack.dev/reference/methods/conversations.replies
    preset: "slack",
    read: "thread",
    sample: "thread-reply",
    channels: () => ({ slack: { token: "t", baseUrl } }),
    authorization: { authorization: "Bearer t" },
    answers: {
      "/conversations.replies?channel=C0SHOP001&ts=1767603600.000100&limit=100": {
        ok: true,
        messages: [{ user: "U1", ts: "1767603600.000100", text: "The shop is down." }],
      },
    },
    shown: "The shop is down.",
  },
  {
    // https://developers.notion.com/reference/get-block-children
    preset: "notion",
    read: "page",
    sample: "page-created",
    channels: () => ({ notion: { token: "t", baseUrl } }),
    authorization: { authorization: "Bearer t" },
    answers: {
      "/v1/blocks/0000002a-477e-80e1-8571-cfd10e92339a/children?page_size=100": {
        results: [
          { type: "heading_1", heading_1: { rich_text: [{ plain_text: "Plan" }] } },
          { type: "divider", divider: {} },
          { type: "paragraph", paragraph: { rich_text: [{ plain_text: "First" }, { plain_text: " step" }] } },
        ],
      },
    },
    shown: "Plan\nFirst step",
  },
];

/** Reads with a test below. */
const APART = ["github failed-log", "bitbucket diff", "stripe customer"];

test("every read of a built-in preset has a case", () => {
  const reads = findPresets().flatMap((name) =>
    Object.keys(readPreset(name).preset.reads?.calls ?? {}).map((read) => `${name} ${read}`),
  );
  const tried = [...CASES.map(({ preset, read }) => `${preset} ${read}`), ...APART];
  expect(tried.toSorted()).toEqual(reads.toSorted());
});

test.each(CASES)("$preset, $read", async (one) => {
  answers = one.answers;
  const prompt = await promptFor(one.preset, one.sample, { context: [one.read] }, one.channels());
  expect(asked.map(({ url }) => url)).toEqual(Object.keys(one.answers));
  for (const { headers } of asked) expect(headers).toMatchObject(one.authorization);
  expect(prompt).toContain(one.shown);
  if (one.hidden !== undefined) expect(prompt).not.toContain(one.hidden);
});

// https://docs.github.com/en/rest/actions/workflow-jobs
test("github, failed-log: of each failed job the part before its last error, from the storage without the credential", async () => {
  const storage = `http://localhost:${new URL(baseUrl).port}/storage/9?signature=x`;
  const log = (text: string): string => `2026-01-05T10:00:00.1234567Z ${text}\n`;
  answers = {
    "/repos/acme/shop/actions/runs/1589141559/jobs?filter=latest&per_page=100": {
      jobs: [
        { id: 8, name: "lint", conclusion: "success" },
        { id: 9, name: "test", conclusion: "failure" },
      ],
    },
    "/repos/acme/shop/actions/jobs/9/logs?filter=latest&per_page=100": storage,
    "/storage/9?signature=x":
      log("1 test failed") + log("##[error]Process completed with exit code 1.") + log("Cleaning up"),
  };
  const prompt = await promptFor("github", "workflow-failed", { context: ["failed-log"] }, GITHUB.channels());
  expect(asked.map(({ url }) => url)).toEqual(Object.keys(answers));
  expect(asked.at(-1)?.headers.authorization).toBeUndefined();
  expect(prompt).toContain("test:\n1 test failed\n##[error]Process completed with exit code 1.\n<<<");
});

// https://developer.atlassian.com/cloud/bitbucket/rest/api-group-pullrequests/
test("bitbucket, diff: its redirect stays at the service", async () => {
  const channels = { bitbucket: { token: "t", baseUrl } };
  const pull = {
    pullrequest: { id: 42, title: "Retries" },
    repository: { full_name: "acme/shop" },
    actor: { nickname: "ann" },
  };
  answers = {
    "/repositories/acme/shop/pullrequests/42/diff": `${baseUrl}/repositories/acme/shop/diff/a..b`,
    "/repositories/acme/shop/diff/a..b": PATCH,
  };
  service = await startService({ config: toConfig("bitbucket", { context: ["diff"] }, channels) });
  await service.post("bitbucket", pull, { "x-event-key": "pullrequest:created" });
  await expect.poll(() => models.conversations().length, { timeout: 20_000 }).toBeGreaterThan(0);
  expect(String(models.lastMessages().at(-1)?.content)).toContain(NUMBERED);
});

test("stripe, customer: readToken is the credential, and the preset names the address", async () => {
  const config = toConfig("stripe", { context: ["customer"], readToken: "rk_test" }, {});
  const { errors } = await findProblems(config);
  expect(errors).toEqual([]);
});

test("readToken replaces the channel's credential", async () => {
  answers = { "/repos/acme/shop/pulls/42": PATCH };
  const options = { context: ["diff"], readToken: "only-reads" };
  await promptFor("github", "pull-request-opened", options, GITHUB.channels());
  expect(asked[0]?.headers.authorization).toBe("Bearer only-reads");
});

test("an event without a pull request has no diff, and no warning", async () => {
  const prompt = await promptFor("github", "issue-opened", { context: ["diff"] }, GITHUB.channels());
  expect(asked).toEqual([]);
  expect(prompt).not.toContain("The diff");
});

test("a name may have the settings of a call", async () => {
  const context = [{ call: "diff", required: true, title: "What changed" }];
  const config = toConfig("github", { context }, GITHUB.channels());
  Object.assign(config.agents?.defaults ?? {}, { maxAttempts: 1 });
  service = await startService({ config });
  const { payload, headers } = sample("github", "pull-request-opened");
  const { body } = await service.post("github", payload, headers);
  const { runs } = await service.settled(body.eventId);
  expect(runs[0]).toMatchObject({
    state: "failed",
    error: expect.stringMatching(/^What changed could not be read: 404 /),
  });
});

test.each([
  [{ context: ["dif"] }, /hooks\.presets\[0\]\.with\.context\[0\]: This value must be one of "diff"/],
  [{ context: [{ call: "dif" }] }, /with\.context\[0\]\.call: .*: diff, files, comments, failed-log or <set>\.<call>/],
  [{ context: [{ call: "nope.x" }] }, /There is no tool set "nope" in agents\.tools\.$/m],
  [{ context: ["diff"] }, /^(?!.*no tool set).*with\.context: .* Add the block channels\.github, or set readToken/s],
])("%j without a channel is a problem", async (options, message) => {
  const service_ = startService({ config: toConfig("github", options, {}) });
  await expect(service_).rejects.toThrow(message);
});

test.each([
  [false, []],
  [true, ["preset:github"]],
])("with repository.private %j the sources of its diff are %j", async (isPrivate, sources) => {
  answers = { "/repos/acme/shop/pulls/42": PATCH };
  service = await startService({ config: toConfig("github", { context: ["diff"] }, GITHUB.channels()) });
  const { payload, headers } = sample("github", "pull-request-opened");
  const about = { ...payload, repository: { full_name: "acme/shop", private: isPrivate } };
  const { body } = await service.post("github", about, headers);
  const { runs } = await service.settled(body.eventId);
  expect(runs[0].steps[0]).toMatchObject({ call: "preset:github.diff", state: "done", sources });
});

test("an internal comment of a Jira ticket is not read, because its customer may see the reply", async () => {
  const note = { author: { displayName: "Ann" }, created: "2026-01-05", renderedBody: "a secret", jsdPublic: false };
  answers = {
    "/rest/api/3/issue/SHOP-42/comment?orderBy=created&maxResults=100&expand=renderedBody": {
      comments: [note, { ...note, renderedBody: "an answer", jsdPublic: true }],
    },
  };
  const channels = { jira: { token: "t", email: "a@example.com", baseUrl } };
  const prompt = await promptFor("jira", "issue-created", { context: ["comments"] }, channels);
  expect(prompt).toContain("an answer");
  expect(prompt).not.toContain("a secret");
});
