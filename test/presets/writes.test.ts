/**
 * Calls of presets at the places of their events: each write of a built-in preset, beside a double of the vendor's API that takes
 * what the vendor's description takes, which is named.
 */
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import { Ajv } from "ajv";
import { buildSchema, graphqlSync } from "graphql";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { UserConfig } from "../../src/core/config/schema/generated.ts";
import { findPresets, readPreset } from "../../src/core/config/presets/file.ts";
import { takesPlace } from "../../src/core/config/presets/parameters.ts";
import { readPath, replaceAt } from "../../src/core/shared/json.ts";
import { findProblems } from "../support/config.ts";
import { type ModelServer, startModels } from "../support/models.ts";
import { readSamples } from "../support/preset.ts";
import { type Service, startService } from "../support/service.ts";

const TEXT = { type: "string" };
const closed = (properties: object, required = Object.keys(properties)) => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});
const LIST = { type: "array", items: TEXT };

interface Route {
  /** The body that it takes. Absent: none. */
  body?: object;
  status?: number;
  answer?: unknown;
}

const GITHUB_ISSUE = closed(
  {
    state: { enum: ["open", "closed"] },
    state_reason: { enum: ["completed", "not_planned", "duplicate", "reopened"] },
  },
  [],
);
const GITLAB_ISSUE = closed(
  {
    add_labels: TEXT,
    remove_labels: TEXT,
    assignee_ids: { type: "array", items: { type: "integer" } },
    state_event: { enum: ["close", "reopen"] },
  },
  [],
);
const GITLAB_MERGE_REQUEST = closed(
  { ...GITLAB_ISSUE.properties, reviewer_ids: { type: "array", items: { type: "integer" } } },
  [],
);

/** The requests of presets as each vendor takes them: by the request line of its description. */
const ROUTES: Record<string, Route> = {
  // https://github.com/octokit/plugin-rest-endpoint-methods.js/tree/main/docs: issues/addLabels, issues/removeLabel,
  // issues/addAssignees, issues/update, pulls/requestReviewers, actions/reRunWorkflowFailedJobs
  "POST /repos/{owner}/{repo}/issues/{n}/labels": { body: closed({ labels: LIST }), answer: [] },
  "DELETE /repos/{owner}/{repo}/issues/{n}/labels/{name}": { answer: [] },
  "POST /repos/{owner}/{repo}/issues/{n}/assignees": { body: closed({ assignees: LIST }), status: 201 },
  "PATCH /repos/{owner}/{repo}/issues/{n}": { body: GITHUB_ISSUE },
  "POST /repos/{owner}/{repo}/pulls/{n}/requested_reviewers": {
    body: closed({ reviewers: LIST, team_reviewers: LIST }, []),
    status: 201,
  },
  "POST /repos/{owner}/{repo}/actions/runs/{n}/rerun-failed-jobs": { status: 201 },
  // https://github.com/gitlabhq/gitlabhq/tree/master/doc/api: issues.md, merge_requests.md, members.md, pipelines.md
  "PUT /api/v4/projects/{id}/issues/{n}": { body: GITLAB_ISSUE },
  "PUT /api/v4/projects/{id}/merge_requests/{n}": { body: GITLAB_MERGE_REQUEST },
  "GET /api/v4/projects/{id}/members/all": {
    answer: [
      { id: 8, username: "annabel", name: "Annabel" },
      { id: 7, username: "ann", name: "Ann" },
    ],
  },
  "POST /api/v4/projects/{id}/pipelines/{n}/retry": { status: 201 },
  // https://github.com/go-gitea/gitea: IssueLabelsOption, EditIssueOption and PullReviewRequestOptions of modules/structs,
  // issue_label.go and action.go of routers/api/v1/repo
  "POST /api/v1/repos/{owner}/{repo}/issues/{n}/labels": { body: closed({ labels: LIST }), answer: [] },
  "GET /api/v1/repos/{owner}/{repo}/issues/{n}/labels": { answer: [{ id: 31, name: "Bug", color: "f00" }] },
  "DELETE /api/v1/repos/{owner}/{repo}/issues/{n}/labels/{n}": { status: 204 },
  "PATCH /api/v1/repos/{owner}/{repo}/issues/{n}": {
    body: closed({ assignees: LIST, state: { enum: ["open", "closed"] } }, []),
    status: 201,
  },
  "POST /api/v1/repos/{owner}/{repo}/pulls/{n}/requested_reviewers": {
    body: closed({ reviewers: LIST, team_reviewers: LIST }, []),
    status: 201,
    answer: [],
  },
  "POST /api/v1/repos/{owner}/{repo}/actions/runs/{n}/rerun-failed-jobs": { status: 201 },
  // https://github.com/MrRefactoring/jira.js/tree/master/src/version3: issues.ts and userSearch.ts, made from Atlassian's description
  "PUT /rest/api/3/issue/{n}": {
    body: closed(
      {
        fields: closed({ priority: closed({ name: TEXT }) }),
        update: closed({ labels: { type: "array", items: closed({ add: TEXT, remove: TEXT }, []) } }),
      },
      [],
    ),
    status: 204,
  },
  "GET /rest/api/3/user/assignable/search": {
    answer: [{ accountId: "5b10:ann", displayName: "Ann Lee", emailAddress: "ann@acme.com", active: true }],
  },
  "PUT /rest/api/3/issue/{n}/assignee": { body: closed({ accountId: TEXT }), status: 204 },
  "GET /rest/api/3/issue/{n}/transitions": {
    answer: {
      transitions: [
        { id: "11", name: "Start", to: { id: "3", name: "In Progress" } },
        { id: "21", name: "Finish", to: { id: "4", name: "Done" } },
      ],
    },
  },
  "POST /rest/api/3/issue/{n}/transitions": {
    body: closed({ transition: closed({ id: TEXT }) }),
    status: 204,
  },
  // https://github.com/getsentry/sentry-api-schema: Update an Issue
  "PUT /api/0/organizations/{slug}/issues/{n}/": {
    body: closed(
      {
        status: { enum: ["resolved", "unresolved", "ignored", "resolvedInNextRelease", "muted"] },
        substatus: { enum: ["archived_until_escalating", "archived_until_condition_met", "archived_forever"] },
        assignedTo: TEXT,
      },
      [],
    ),
    answer: {},
  },
  // https://github.com/PagerDuty/api-schema: updateIncident, createIncidentNote
  "PUT /incidents/{n}": {
    body: closed({
      incident: closed({
        type: { enum: ["incident", "incident_reference"] },
        status: { enum: ["resolved", "acknowledged", "triggered"] },
      }),
    }),
  },
  "GET /incidents/{n}/notes": { answer: { notes: [] } },
  "POST /incidents/{n}/notes": {
    body: closed({ note: closed({ content: TEXT }) }),
    status: 201,
    answer: { note: { id: "PNOTE01" } },
  },
  // https://developer.zendesk.com/api-reference/ticketing: tickets/tickets, tickets/ticket_comments, ticket-management/tags (PUT adds)
  "PUT /api/v2/tickets/{n}": {
    body: closed({
      ticket: closed(
        {
          assignee_email: TEXT,
          status: { enum: ["new", "open", "pending", "hold", "solved", "closed"] },
          comment: closed({ html_body: TEXT, public: { type: "boolean" } }),
        },
        [],
      ),
    }),
    answer: { audit: { events: [{ id: 991, type: "Comment" }] } },
  },
  "GET /api/v2/tickets/{n}/comments": { answer: { comments: [] } },
  "PUT /api/v2/tickets/{n}/tags": { body: closed({ tags: LIST }), answer: { tags: [] } },
  // https://github.com/chatwoot/chatwoot: swagger/paths/application; its description has no call that adds labels and keeps the
  // others: POST …/labels replaces the list, so that a label which a person adds between a read and this call would be lost, and
  // no version or ETag tells. app/controllers/api/v1/accounts/bulk_actions_controller.rb, which the inbox itself calls, adds.
  "GET /api/v1/accounts/{n}/conversations/{n}/messages": { answer: { payload: [] } },
  "POST /api/v1/accounts/{n}/conversations/{n}/messages": {
    body: closed({ content: TEXT, message_type: { enum: ["outgoing"] }, private: { type: "boolean" } }),
    answer: { id: 77 },
  },
  "GET /api/v1/accounts/{n}/agents": {
    answer: [{ id: 9, name: "Bob Ray", email: "bob@acme.com", available_name: "Bob" }],
  },
  "POST /api/v1/accounts/{n}/conversations/{n}/assignments": { body: closed({ assignee_id: { type: "integer" } }) },
  "GET /api/v1/accounts/{n}/labels": {
    answer: {
      payload: [
        { id: 1, title: "billing" },
        { id: 2, title: "vip" },
      ],
    },
  },
  "POST /api/v1/accounts/{n}/bulk_actions": {
    body: closed({
      type: { const: "Conversation" },
      ids: LIST,
      labels: closed({ add: LIST }),
    }),
  },
  "POST /api/v1/accounts/{n}/conversations/{n}/toggle_status": {
    body: closed({ status: { enum: ["open", "resolved", "pending", "snoozed"] } }),
    answer: { payload: { success: true } },
  },
  // https://github.com/slackapi/slack-api-specs: reactions.add, chat.postMessage
  "POST /slack/reactions.add": {
    body: closed({ channel: TEXT, name: TEXT, timestamp: TEXT }),
    answer: { ok: true },
  },
  "POST /slack/chat.postMessage": {
    body: {
      ...closed({ channel: TEXT, text: TEXT, unfurl_links: {}, unfurl_media: {}, metadata: {}, thread_ts: TEXT }, [
        "channel",
        "text",
      ]),
    },
    answer: { ok: true, channel: "C0SHOP001", ts: "1767609000.000900" },
  },
};

/** The parts of https://github.com/linear/linear/blob/master/packages/sdk/src/schema.graphql that presets use. */
const LINEAR = buildSchema(`
  type Query {
    issue(id: String!): Issue!
    issueLabels(first: Int, filter: IssueLabelFilter): IssueLabelConnection!
  }
  type Mutation { issueUpdate(id: String!, input: IssueUpdateInput!): IssuePayload! }
  input IssueLabelFilter { team: NullableTeamFilter }
  input NullableTeamFilter { null: Boolean }
  input IssueUpdateInput {
    addedLabelIds: [String!] removedLabelIds: [String!] assigneeId: String stateId: String priority: Int
  }
  type IssuePayload { success: Boolean! }
  type Issue { id: ID! team: Team! labels(first: Int): IssueLabelConnection! }
  type Team {
    labels(first: Int): IssueLabelConnection! members(first: Int): UserConnection! states(first: Int): StateConnection!
  }
  type IssueLabelConnection { nodes: [IssueLabel!]! }
  type IssueLabel { id: ID! name: String! }
  type UserConnection { nodes: [User!]! }
  type User { id: ID! displayName: String! name: String! email: String! }
  type StateConnection { nodes: [State!]! }
  type State { id: ID! name: String! }
`);
const LINEAR_ROOT = {
  issue: {
    id: "i1",
    labels: { nodes: [{ id: "l1", name: "Bug" }] },
    team: {
      labels: { nodes: [{ id: "l1", name: "Bug" }] },
      members: { nodes: [{ id: "u1", displayName: "ann", name: "Ann Lee", email: "ann@acme.com" }] },
      states: {
        nodes: [
          { id: "s1", name: "Todo" },
          { id: "s2", name: "In Progress" },
        ],
      },
    },
  },
  issueLabels: { nodes: [{ id: "l2", name: "Security" }] },
  issueUpdate: { success: true },
};

const ajv = new Ajv();
const CHECKED = Object.entries(ROUTES).map(([line, { body, ...route }]) => {
  const [method = "", path = ""] = line.split(" ");
  const pattern = new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "[^/]+")}$`);
  return { ...route, method, pattern, check: body && ajv.compile(body) };
});

interface Asked {
  line: string;
  body: unknown;
  headers: IncomingHttpHeaders;
}

let models: ModelServer;
let service: Service;
let server: Server;
let asked: Asked[] = [];
let baseUrl: string;
/** How many answers to requests that change something are lost. */
let lost = 0;
let calls: { name: string; arguments: unknown }[] = [];

/** By the vendor's description: 404 for another path, 422 for another body. */
function answer(method: string, url: string, text: string): { status: number; body?: unknown } {
  const { pathname } = new URL(url, baseUrl);
  const body: unknown = text === "" ? undefined : JSON.parse(text);
  if (pathname === "/linear/graphql") {
    const { query, variables } = body as { query: string; variables: Record<string, unknown> };
    return {
      status: 200,
      body: graphqlSync({ schema: LINEAR, source: query, variableValues: variables, rootValue: LINEAR_ROOT }),
    };
  }
  const route = CHECKED.find((one) => one.method === method && one.pattern.test(pathname));
  if (!route) return { status: 404, body: { message: "Not Found" } };
  if (route.check ? !route.check(body) : body !== undefined)
    return { status: 422, body: { message: ajv.errorsText(route.check?.errors) } };
  return { status: route.status ?? 200, body: route.answer };
}

const WRITING = findPresets().filter((name) => readPreset(name).preset.writes);

function callsOf(
  preset: string,
): [string, NonNullable<ReturnType<typeof readPreset>["preset"]["writes"]>["calls"][string]][] {
  return Object.entries(readPreset(preset).preset.writes?.calls ?? {});
}

/** All of a preset's writes, and all that the model may fill of them. */
function grantAll(preset: string, mode: "ask" | "allow"): Record<string, object> {
  return Object.fromEntries(
    callsOf(preset).map(([name, { input = {} }]) => [`${preset}.${name}`, { mode, free: Object.keys(input) }]),
  );
}

/** Customers, because each call of a turn that anyone may start asks a person. */
const FROM: Record<string, string> = { zendesk: "zendesk:8447388090494", chatwoot: "chatwoot:100" };

/** Private texts that are read first. */
const READING: Record<string, string> = { pagerduty: "notes", zendesk: "comments", chatwoot: "messages" };

function toConfig(): UserConfig {
  const usual = { events: ["*"], deliver: false, wakeMode: "next-heartbeat" };
  const optionsOf = (preset: string): object => ({
    ...Object.fromEntries(
      Object.entries(usual).filter(([name]) => name !== "events" || readPreset(preset).preset.events !== undefined),
    ),
    ...(preset === "slack" && { mention: false }),
    ...(FROM[preset] !== undefined && { from: FROM[preset] }),
  });
  return {
    agents: {
      providers: { local: { kind: "openai-compatible", baseUrl: models.baseUrl } },
      defaults: { model: "local/small", maxAttempts: 2 },
    },
    channels: {
      github: { token: "t", baseUrl },
      gitlab: { token: "t", baseUrl },
      gitea: { token: "t", baseUrl },
      linear: { token: "t", baseUrl: `${baseUrl}/linear` },
      jira: { token: "t", email: "a@example.com", baseUrl },
      sentry: { token: "t", organization: "acme", baseUrl },
      pagerduty: { token: "t", from: "a@example.com", baseUrl },
      slack: { token: "t", baseUrl: `${baseUrl}/slack` },
      zendesk: { token: "t", baseUrl },
      chatwoot: { token: "t", baseUrl },
    },
    hooks: {
      presets: WRITING.flatMap((use) => [
        { use, with: { ...optionsOf(use), grants: grantAll(use, "allow") } },
        { use, with: { ...optionsOf(use), path: `${use}-asking`, grants: grantAll(use, "ask") } },
        { use, with: { ...optionsOf(use), path: `${use}-bare` } },
        ...(READING[use] === undefined
          ? []
          : [
              {
                use,
                with: {
                  ...optionsOf(use),
                  path: `${use}-reading`,
                  context: [READING[use]],
                  grants: grantAll(use, "allow"),
                },
              },
            ]),
        ...(takesPlace(readPreset(use).preset)
          ? [
              {
                use,
                with: {
                  ...optionsOf(use),
                  path: `${use}-elsewhere`,
                  place: "ELSEWHERE",
                  grants: grantAll(use, "allow"),
                },
              },
            ]
          : []),
      ]),
    },
  };
}

beforeAll(async () => {
  models = await startModels();
  models.answer((messages) => (messages.some(({ role }) => role === "tool") ? { text: "Seen." } : { calls }));
  server = createServer((request, response) => {
    const { method = "", url = "", headers } = request;
    let text = "";
    request.on("data", (chunk: Buffer) => (text += chunk.toString()));
    request.on("end", () => {
      const { status, body } = answer(method, url, text);
      asked.push({ line: `${method} ${url}`, body: text === "" ? undefined : JSON.parse(text), headers });
      const isWrite = method !== "GET" && !text.includes('"query ');
      if (isWrite && lost > 0) {
        lost -= 1;
        request.socket.destroy();
        return;
      }
      response
        .writeHead(status, { "content-type": "application/json" })
        .end(body === undefined ? "" : JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  baseUrl = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
  service = await startService({ config: toConfig() });
});
beforeEach(() => {
  [asked, lost] = [[], 0];
});
afterAll(async () => {
  await service.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await models.close();
});

interface Case {
  preset: string;
  write: string;
  sample: string;
  /** The arguments that the model gives. */
  args?: object;
  /** Its look-up, as a request. */
  found?: string;
  /** The request, and its body. */
  line: string;
  body?: unknown;
  authorization?: Record<string, string>;
}

const BEARER = { authorization: "Bearer t" };
const github = { preset: "github", authorization: BEARER, sample: "pull-request-opened" };
const gitlab = { preset: "gitlab", authorization: { "private-token": "t" }, sample: "merge-request-open" };
const gitea = { preset: "gitea", authorization: { authorization: "token t" }, sample: "pull-request-opened" };
const linear = { preset: "linear", authorization: BEARER, sample: "issue-create", line: "POST /linear/graphql" };
const jira = {
  preset: "jira",
  authorization: { authorization: `Basic ${Buffer.from("a@example.com:t").toString("base64")}` },
  sample: "issue-created",
};
const sentry = {
  preset: "sentry",
  authorization: BEARER,
  sample: "issue-created",
  line: "PUT /api/0/organizations/acme/issues/4501/",
};
const pagerduty = {
  preset: "pagerduty",
  authorization: { authorization: "Token token=t", from: "a@example.com" },
  sample: "incident-triggered",
  line: "PUT /incidents/Q1CHECKOUT",
};
const slack = { preset: "slack", authorization: BEARER, sample: "mention" };
const zendesk = {
  preset: "zendesk",
  authorization: BEARER,
  sample: "comment-added",
  line: "PUT /api/v2/tickets/5158",
};
const CONVERSATION = "/api/v1/accounts/3/conversations/42";
const chatwoot = { preset: "chatwoot", authorization: { api_access_token: "t" }, sample: "message" };

const UPDATE =
  "mutation ($id: String!, $input: IssueUpdateInput!) { done: issueUpdate(id: $id, input: $input) { success } }";
const updated = (input: object) => ({ query: UPDATE, variables: { id: "SHOP-42", input } });

const ISSUE = "/repos/acme/shop/issues/42";
const CASES: Case[] = [
  {
    ...github,
    write: "label",
    args: { labels: ["bug", "ui"] },
    line: `POST ${ISSUE}/labels`,
    body: { labels: ["bug", "ui"] },
  },
  { ...github, write: "unlabel", args: { label: "to do" }, line: `DELETE ${ISSUE}/labels/to%20do` },
  {
    ...github,
    write: "assign",
    args: { assignee: "ann" },
    line: `POST ${ISSUE}/assignees`,
    body: { assignees: ["ann"] },
  },
  {
    ...github,
    write: "close",
    args: { reason: "not_planned" },
    line: `PATCH ${ISSUE}`,
    body: { state: "closed", state_reason: "not_planned" },
  },
  { ...github, write: "reopen", line: `PATCH ${ISSUE}`, body: { state: "open" } },
  {
    ...github,
    write: "request-review",
    args: { reviewer: "ann" },
    line: "POST /repos/acme/shop/pulls/42/requested_reviewers",
    body: { reviewers: ["ann"] },
  },
  {
    ...github,
    write: "rerun-failed-jobs",
    sample: "workflow-failed",
    line: "POST /repos/acme/shop/actions/runs/1589141559/rerun-failed-jobs",
  },
  {
    ...gitlab,
    write: "label",
    args: { labels: ["bug", "ui"] },
    line: "PUT /api/v4/projects/acme%2Fshop/merge_requests/42",
    body: { add_labels: "bug,ui" },
  },
  {
    ...gitlab,
    write: "unlabel",
    sample: "issue-open",
    args: { label: "bug" },
    line: "PUT /api/v4/projects/acme%2Fshop/issues/37",
    body: { remove_labels: "bug" },
  },
  {
    ...gitlab,
    write: "assign",
    args: { assignee: "Ann" },
    found: "GET /api/v4/projects/acme%2Fshop/members/all?query=Ann&per_page=100",
    line: "PUT /api/v4/projects/acme%2Fshop/merge_requests/42",
    body: { assignee_ids: [7] },
  },
  {
    ...gitlab,
    write: "close",
    sample: "issue-open",
    line: "PUT /api/v4/projects/acme%2Fshop/issues/37",
    body: { state_event: "close" },
  },
  {
    ...gitlab,
    write: "reopen",
    sample: "merge-request-comment",
    line: "PUT /api/v4/projects/acme%2Fshop/merge_requests/42",
    body: { state_event: "reopen" },
  },
  {
    ...gitlab,
    write: "request-review",
    args: { reviewer: "ann" },
    found: "GET /api/v4/projects/acme%2Fshop/members/all?query=ann&per_page=100",
    line: "PUT /api/v4/projects/acme%2Fshop/merge_requests/42",
    body: { reviewer_ids: [7] },
  },
  {
    ...gitlab,
    write: "rerun-failed-jobs",
    sample: "pipeline-failed",
    line: "POST /api/v4/projects/acme%2Fshop/pipelines/3100/retry",
  },
  {
    ...gitea,
    write: "label",
    args: { labels: ["bug"] },
    line: `POST /api/v1${ISSUE}/labels`,
    body: { labels: ["bug"] },
  },
  {
    ...gitea,
    write: "unlabel",
    args: { label: "bug" },
    found: `GET /api/v1${ISSUE}/labels`,
    line: `DELETE /api/v1${ISSUE}/labels/31`,
  },
  { ...gitea, write: "assign", args: { assignee: "ann" }, line: `PATCH /api/v1${ISSUE}`, body: { assignees: ["ann"] } },
  { ...gitea, write: "close", line: `PATCH /api/v1${ISSUE}`, body: { state: "closed" } },
  { ...gitea, write: "reopen", line: `PATCH /api/v1${ISSUE}`, body: { state: "open" } },
  {
    ...gitea,
    write: "request-review",
    args: { reviewer: "ann" },
    line: "POST /api/v1/repos/acme/shop/pulls/42/requested_reviewers",
    body: { reviewers: ["ann"] },
  },
  {
    ...gitea,
    write: "rerun-failed-jobs",
    sample: "run-failed",
    line: "POST /api/v1/repos/acme/shop/actions/runs/31/rerun-failed-jobs",
  },
  {
    ...linear,
    write: "label",
    args: { labels: ["bug", "Security"] },
    found: linear.line,
    body: updated({ addedLabelIds: ["l1", "l2"] }),
  },
  {
    ...linear,
    write: "unlabel",
    args: { label: "bug" },
    found: linear.line,
    body: updated({ removedLabelIds: ["l1"] }),
  },
  {
    ...linear,
    write: "assign",
    args: { assignee: "Ann Lee" },
    found: linear.line,
    body: updated({ assigneeId: "u1" }),
  },
  {
    ...linear,
    write: "change-state",
    args: { state: "in progress" },
    found: linear.line,
    body: updated({ stateId: "s2" }),
  },
  { ...linear, write: "set-priority", args: { priority: 2 }, body: updated({ priority: 2 }) },
  {
    ...jira,
    write: "label",
    args: { labels: ["bug", "ui"] },
    line: "PUT /rest/api/3/issue/SHOP-42",
    body: { update: { labels: [{ add: "bug" }, { add: "ui" }] } },
  },
  {
    ...jira,
    write: "unlabel",
    args: { label: "bug" },
    line: "PUT /rest/api/3/issue/SHOP-42",
    body: { update: { labels: [{ remove: "bug" }] } },
  },
  {
    ...jira,
    write: "assign",
    args: { assignee: "ann@acme.com" },
    found: "GET /rest/api/3/user/assignable/search?issueKey=SHOP-42&query=ann%40acme.com&maxResults=100",
    line: "PUT /rest/api/3/issue/SHOP-42/assignee",
    body: { accountId: "5b10:ann" },
  },
  {
    ...jira,
    write: "change-state",
    args: { state: "Done" },
    found: "GET /rest/api/3/issue/SHOP-42/transitions",
    line: "POST /rest/api/3/issue/SHOP-42/transitions",
    body: { transition: { id: "21" } },
  },
  {
    ...jira,
    write: "set-priority",
    args: { priority: "High" },
    line: "PUT /rest/api/3/issue/SHOP-42",
    body: { fields: { priority: { name: "High" } } },
  },
  { ...sentry, write: "resolve", body: { status: "resolved" } },
  { ...sentry, write: "ignore", body: { status: "ignored", substatus: "archived_until_escalating" } },
  { ...sentry, write: "assign", args: { assignee: "ann@acme.com" }, body: { assignedTo: "ann@acme.com" } },
  { ...pagerduty, write: "acknowledge", body: { incident: { type: "incident_reference", status: "acknowledged" } } },
  { ...pagerduty, write: "resolve", body: { incident: { type: "incident_reference", status: "resolved" } } },
  {
    ...pagerduty,
    write: "note",
    args: { text: "**Looking**." },
    found: "GET /incidents/Q1CHECKOUT/notes",
    line: "POST /incidents/Q1CHECKOUT/notes",
    body: { note: { content: expect.stringMatching(/Looking\.$/) } },
  },
  {
    ...slack,
    write: "react",
    args: { emoji: "eyes" },
    line: "POST /slack/reactions.add",
    body: { channel: "C0SHOP001", timestamp: "1767603600.000100", name: "eyes" },
  },
  {
    ...slack,
    write: "open-thread",
    args: { text: "*Incident* <!channel>" },
    line: "POST /slack/chat.postMessage",
    body: expect.objectContaining({ channel: "C0SHOP001", text: expect.stringContaining("&lt;!channel&gt;") }),
  },
  ...([true, false] as const).map((isPublic) => ({
    ...zendesk,
    write: isPublic ? "answer" : "note",
    args: { text: "**Looking**." },
    found: "GET /api/v2/tickets/5158/comments?sort=-created_at&page[size]=100",
    body: { ticket: { comment: { html_body: expect.stringContaining("Looking"), public: isPublic } } },
  })),
  {
    ...zendesk,
    write: "assign",
    args: { assignee: "bob@acme.com" },
    body: { ticket: { assignee_email: "bob@acme.com" } },
  },
  {
    ...zendesk,
    write: "tag",
    args: { tags: ["vip", "lost"] },
    line: `${zendesk.line}/tags`,
    body: { tags: ["vip", "lost"] },
  },
  { ...zendesk, write: "close", body: { ticket: { status: "solved" } } },
  { ...zendesk, write: "reopen", body: { ticket: { status: "open" } } },
  ...([true, false] as const).map((isPublic) => ({
    ...chatwoot,
    write: isPublic ? "answer" : "note",
    args: { text: "**Looking**." },
    found: `GET ${CONVERSATION}/messages`,
    line: `POST ${CONVERSATION}/messages`,
    body: { content: expect.stringContaining("**Looking**."), message_type: "outgoing", private: !isPublic },
  })),
  {
    ...chatwoot,
    write: "assign",
    args: { assignee: "bob@acme.com" },
    found: "GET /api/v1/accounts/3/agents",
    line: `POST ${CONVERSATION}/assignments`,
    body: { assignee_id: 9 },
  },
  {
    ...chatwoot,
    write: "tag",
    args: { tags: ["VIP"] },
    found: "GET /api/v1/accounts/3/labels",
    line: "POST /api/v1/accounts/3/bulk_actions",
    body: { type: "Conversation", ids: ["42"], labels: { add: ["vip"] } },
  },
  { ...chatwoot, write: "close", line: `POST ${CONVERSATION}/toggle_status`, body: { status: "resolved" } },
  { ...chatwoot, write: "reopen", line: `POST ${CONVERSATION}/toggle_status`, body: { status: "open" } },
];

test("every write of a built-in preset has a case", () => {
  const writes = WRITING.flatMap((preset) => callsOf(preset).map(([write]) => `${preset} ${write}`));
  expect(CASES.map(({ preset, write }) => `${preset} ${write}`).toSorted()).toEqual(writes.toSorted());
});

/** In private places, whose people are members. */
function sample(preset: string, wanted: string): { payload: object; headers: Record<string, string> } {
  const found = readSamples(preset).find(({ name }) => name === wanted)!;
  const { repository } = found.payload as { repository?: object };
  const payload = repository ? { ...found.payload, repository: { ...repository, private: true } } : found.payload;
  return { payload: { ...payload, nonce: Math.random() }, headers: found.headers };
}

async function run({ preset, sample: name }: Case, end = "") {
  const { payload, headers } = sample(preset, name);
  // A delivery that was sent before would be a repeat.
  const fresh = { ...headers, "x-github-delivery": String(Math.random()), "idempotency-key": String(Math.random()) };
  const { body } = await service.post(`${preset}${end}`, payload, fresh);
  if (body?.runId === undefined) return { steps: [] };
  const { runs } = await service.settled(body.eventId);
  return { ...runs[0], steps: runs[0].steps ?? [] };
}

function ask({ preset, write, args = {} }: Case): void {
  calls = [{ name: `${preset}__${write}`, arguments: args }];
}

/** All writes of one sample are asked for at once. */
const GROUPS = [...Map.groupBy(CASES, ({ preset, sample: name }) => `${preset}, ${name}`)];

test.each(GROUPS)("%s: each write is made at the place of the event, once", async (_, group) => {
  calls = group.map(({ preset, write, args = {} }) => ({ name: `${preset}__${write}`, arguments: args }));
  const { steps } = await run(group[0]!);
  expect(steps.filter(isCall)).toMatchObject(
    group.map(({ preset, write }) => ({
      call: `${preset}.${write}`,
      state: "done",
      text: expect.stringContaining("Done."),
    })),
  );
  const wanted = group.flatMap(({ found, line, body, authorization }) => [
    ...(found === undefined ? [] : [{ line: found, headers: authorization }]),
    { line, body, headers: authorization },
  ]);
  expect(asked).toMatchObject(wanted);
  expect(asked).toHaveLength(wanted.length);
});

function isCall({ kind }: { kind: string }): boolean {
  return kind === "call";
}

test.each(WRITING)("%s: without a grant nothing is called, and its place cannot be chosen", async (preset) => {
  const own = CASES.filter((one) => one.preset === preset);
  const [first] = own;
  calls = own.map(({ write, args = {} }) => ({ name: `${preset}__${write}`, arguments: args }));
  const bare = await run(first!, "-bare");
  expect(
    bare.steps.filter(({ kind, refused }: { kind: string; refused: boolean }) => kind === "call" && !refused),
  ).toEqual([]);
  calls = own.flatMap(({ write, args = {} }) =>
    Object.keys(readPreset(preset).preset.writes?.calls[write]?.place ?? {}).map((name) => ({
      name: `${preset}__${write}`,
      arguments: { ...args, [name]: "ELSE-1" },
    })),
  );
  for (const end of ["", "-elsewhere"].slice(0, takesPlace(readPreset(preset).preset) ? 2 : 1)) await run(first!, end);
  expect(asked).toEqual([]);
});

test.each(WRITING)("%s: granted with ask, each waits for a person", async (preset) => {
  const own = CASES.filter((one) => one.preset === preset);
  for (const one of own.filter(({ sample: name }) => name === own[0]?.sample).slice(0, 1)) {
    ask(one);
    const { payload, headers } = sample(preset, one.sample);
    const { body } = await service.post(`${preset}-asking`, payload, {
      ...headers,
      "x-github-delivery": String(Math.random()),
    });
    const open = async () => (await service.api("/api/approvals?state=open")).approvals;
    await expect.poll(async () => (await open()).length, { timeout: 20_000 }).toBe(1);
    const [{ id, call, arguments: args }] = await open();
    expect(call).toBe(`${preset}.${one.write}`);
    expect(args).toMatchObject(one.args ?? {});
    expect(asked).toEqual([]);
    await service.operate("POST", `/api/approvals/${id}`, { decision: "approve" });
    await service.settled(body.eventId);
    expect(asked.at(-1)).toMatchObject({ line: one.line });
  }
});

/** Where a second one would be a second effect. */
const NOT_REPEATED = [
  "gitea rerun-failed-jobs",
  "github rerun-failed-jobs",
  "gitlab rerun-failed-jobs",
  "jira change-state",
  "pagerduty acknowledge",
  "slack open-thread",
];

test("only what is the same once and twice is repeated after a crash", () => {
  const once = WRITING.flatMap((preset) =>
    callsOf(preset).flatMap(([name, { retry }]) => (retry ? [] : `${preset} ${name}`)),
  );
  expect(once.toSorted()).toEqual(NOT_REPEATED);
});

test.each([
  ["github.label", "is repeated with its id", 2, "done"],
  ["github.rerun-failed-jobs", "is not sent again: a person is asked", 1, "held"],
])("%s whose answer is lost %s", async (name, _, count, state) => {
  const one = CASES.find(({ preset, write }) => `${preset}.${write}` === name)!;
  ask(one);
  lost = 1;
  const { payload, headers } = sample(one.preset, one.sample);
  const { body } = await service.post("github", payload, { ...headers, "x-github-delivery": String(Math.random()) });
  const states = async () =>
    (await service.api(`/api/events/${body.eventId}`)).runs.map((each: { state: string }) => each.state);
  await expect.poll(states, { timeout: 20_000 }).toEqual([state]);
  expect(asked.map(({ line }) => line)).toEqual(Array.from({ length: count }, () => one.line));
  expect(new Set(asked.map((each) => each.headers["idempotency-key"])).size).toBe(1);
  for (const { id } of (await service.api("/api/approvals?state=open")).approvals)
    await service.operate("POST", `/api/approvals/${id}`, { decision: "give-up" });
  await service.settled(body.eventId);
});

test.each([
  [
    "linear",
    "change-state",
    { state: "Elsewhere" },
    'there is no state "Elsewhere" here. There are: Todo, In Progress',
  ],
  ["jira", "assign", { assignee: "nobody" }, 'there is no assignee "nobody" here. There are: Ann Lee'],
  ["github", "label", { labels: ["a,b"] }, "labels[0] must match"],
  ["slack", "react", { emoji: "no emoji" }, "does not have the expected form"],
])("%s.%s is refused with what there is", async (preset, write, args, reason) => {
  const one = { ...CASES.find((each) => each.preset === preset && each.write === write)!, args };
  ask(one);
  const { steps } = await run(one);
  expect(steps.find(isCall)).toMatchObject({
    state: "failed",
    text: expect.stringContaining(reason),
  });
  expect(asked.filter(({ line, body }) => line === one.line && !JSON.stringify(body).includes('"query '))).toEqual([]);
});

test("after private text, a message carries nothing away in its links", async () => {
  const one = CASES.find(({ preset, write }) => preset === "pagerduty" && write === "note")!;
  ask({ ...one, args: { text: "See https://evil.example/a?q=hunter2" } });
  const { payload, headers } = sample(one.preset, one.sample);
  const { body } = await service.post("pagerduty-reading", payload, headers);
  await service.settled(body.eventId);
  expect(asked.at(-1)?.line).toBe(one.line);
  expect(JSON.stringify(asked.at(-1)?.body)).toMatch(/See https:\/\/evil\.example\/a"/);
});

test.each(["zendesk", "chatwoot"])("%s: after private text, only an answer waits for a person", async (preset) => {
  const [answering, note] = CASES.filter((one) => one.preset === preset) as [Case, Case];
  ask(note);
  expect((await run(note, "-reading")).steps.find(isCall)).toMatchObject({ call: `${preset}.note`, state: "done" });
  expect(asked.at(-1)).toMatchObject({ line: note.line, body: note.body });
  ask(answering);
  asked = [];
  const { payload, headers } = sample(preset, answering.sample);
  const { body } = await service.post(`${preset}-reading`, payload, { ...headers, "idempotency-key": "answer" });
  const open = async () => (await service.api("/api/approvals?state=open")).approvals;
  await expect.poll(async () => (await open()).length, { timeout: 20_000 }).toBe(1);
  const [{ id, call }] = await open();
  expect(call).toBe(`${preset}.answer`);
  expect(asked.filter(({ line }) => !line.startsWith("GET "))).toEqual([]);
  await service.operate("POST", `/api/approvals/${id}`, { decision: "approve" });
  await service.settled(body.eventId);
  expect(asked.at(-1)).toMatchObject({ line: answering.line, body: answering.body });
});

test("what people answering in a thread that was opened continues the session", async () => {
  const one = CASES.find(({ write }) => write === "open-thread")!;
  ask(one);
  const opened = await run(one);
  const answered = sample("slack", "thread-reply");
  const payload = replaceAt(answered.payload, ["event", "thread_ts"], "1767609000.000900") as object;
  calls = [];
  const { body } = await service.post("slack", payload, answered.headers);
  const { runs } = await service.settled(body.eventId);
  expect(readPath(runs, ["0", "sessionKey"])).toBe(opened.sessionKey);
});

test.each([
  [{ "github.nope": "ask" }, 'The preset "github" has no call "nope"'],
  [{ "github.lable": "ask" }, 'did you mean "github.label"'],
  [{ "github.*": "ask" }, "Name each call: github.label, github.unlabel"],
  [{ "github.label": "read" }, 'It changes something: grant "ask" or "allow".'],
  [{ "github.label": { mode: "ask", arguments: { repo: "acme/x" } } }, "The event gives this argument. Remove it."],
  [
    { "github.label": "allow" },
    'requires the argument "labels", which is neither fixed in arguments nor named in free',
  ],
])("%j is a problem", async (grants, message) => {
  const channels = { github: { token: "t", baseUrl } };
  const start = startService({ config: { hooks: { presets: [{ use: "github", with: { grants } }] }, channels } });
  await expect(start).rejects.toThrow(message);
});

test("outside of its preset, and without the channel's block, a write is a problem", async () => {
  const presets = [{ use: "github", with: { grants: { "github.label": "ask" as const } } }];
  const own = { id: "own", match: { path: "own" }, messageTemplate: "x", grants: { "github.label": "ask" as const } };
  const channels = { github: { token: "t", baseUrl } };
  const { errors } = await findProblems({ hooks: { presets, mappings: [own] }, channels });
  expect(JSON.stringify(errors)).toMatch(/There is no tool set \\"github\\"/);
  const start = startService({ config: { hooks: { presets }, channels: {} } });
  await expect(start).rejects.toThrow(/Add the block channels\.github/);
});
