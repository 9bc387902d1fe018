import { existsSync, readFileSync } from "node:fs";
import { isObject } from "../../../src/core/shared/json.ts";

/** One of the requests that a sender makes for a thing that happened. */
export interface Delivery {
  /** Its event as the sender names it in a subscription. */
  subscription: string;
  payload: unknown;
  headers: Record<string, string>;
}

type Fields = Record<string, unknown>;

const NEW = { created_at: "2026-01-05T09:00:58Z", updated_at: "2026-01-05T09:00:59Z" };
const MERGE = { commitId: "be67f8871a4d2c75f13a51c1d3c30ac0d74d4ef4" };
const DISCUSSED = {
  is_automatic_forward: true,
  from: { id: 777000, is_bot: false, first_name: "Telegram" },
  forward_origin: { type: "channel", chat: { id: -1009876543210, type: "channel" }, message_id: 15, date: 1767603600 },
};

/** All that senders with registration send for one thing that happened, in the order in which it arrives. */
export const THINGS: Record<string, Record<string, Delivery[]>> = {
  slack: {
    "a mention in a channel": [
      from("slack", "mention", "app_mention"),
      from("slack", "mention", "message.channels", {
        event: { type: "message", channel_type: "channel" },
        event_id: "Ev901",
      }),
    ],
    "a mention whose message arrives first": [
      from("slack", "thread-reply", "message.channels", { event: { ts: "1767603700.000900" }, event_id: "Ev902" }),
      from("slack", "thread-reply", "app_mention", {
        event: { type: "app_mention", channel_type: undefined, ts: "1767603700.000900" },
        event_id: "Ev903",
      }),
    ],
    "a direct message": [from("slack", "direct-message", "message.im")],
  },
  github: {
    "a pull request with two reviewers": [
      from("github", "pull-request-opened", "pull_request", { pull_request: NEW }),
      from("github", "pull-request-review-requested", "pull_request", { pull_request: NEW }),
      from("github", "pull-request-review-requested", "pull_request", { pull_request: NEW }),
      from("github", "push-to-branch", "push"),
    ],
    "a review with comments": [
      from("github", "review-comment", "pull_request_review_comment", {
        comment: { pull_request_review_id: 237895671 },
      }),
      from("github", "review-changes-requested", "pull_request_review"),
      from("github", "review-comment", "pull_request_review_comment", {
        comment: { pull_request_review_id: 237895671 },
      }),
    ],
    "an answer to a review comment": [
      from("github", "review-comment", "pull_request_review_comment", {
        comment: { pull_request_review_id: 237895679 },
      }),
      from("github", "review-of-comments-only", "pull_request_review", { review: { id: 237895679 } }),
    ],
    "a failed workflow": [
      from("github", "workflow-failed", "workflow_run"),
      github("check_suite", {
        action: "completed",
        check_suite: { id: 5, conclusion: "failure", app: { slug: "github-actions" } },
      }),
      github("workflow_job", { action: "completed", workflow_job: { id: 6, conclusion: "failure" } }),
    ],
    "a deployment that fails with its workflow": [
      from("github", "deployment-failed", "deployment_status", { workflow_run: { id: 30433700, run_attempt: 2 } }),
      from("github", "workflow-failed", "workflow_run", { workflow_run: { id: 30433700, run_attempt: 2 } }),
    ],
    "a comment": [from("github", "issue-comment", "issue_comment")],
    "an issue with a label": [
      from("github", "issue-opened", "issues"),
      from("github", "issue-opened", "issues", { action: "labeled" }),
    ],
    "a merge": [from("github", "push-to-main", "push"), from("github", "pull-request-closed", "pull_request")],
  },
  gitlab: {
    "a merge request": [
      from("gitlab", "merge-request-open", "merge_requests_events"),
      from("gitlab", "push-to-branch", "push_events"),
    ],
    "a failed pipeline": [from("gitlab", "pipeline-failed", "pipeline_events")],
    "a comment": [from("gitlab", "merge-request-comment", "note_events")],
    "an assigned issue": [
      from("gitlab", "issue-assigned", "issues_events"),
      from("gitlab", "system-note", "note_events"),
    ],
  },
  gitea: {
    "a pull request with a reviewer": [
      from("gitea", "pull-request-opened", "pull_request", { pull_request: NEW }),
      from("gitea", "pull-request-review-requested", "pull_request", { pull_request: NEW }),
    ],
    "a failed run of Gitea Actions": [
      from("gitea", "status-failed", "status", {
        context: "test / unit (push)",
        target_url: "/acme/shop/actions/runs/12/jobs/0",
      }),
      from("gitea", "status-failed", "status", {
        context: "test / lint (push)",
        target_url: "/acme/shop/actions/runs/12/jobs/1",
      }),
      from("gitea", "run-failed", "workflow_run"),
    ],
    "a review": [from("gitea", "review-rejected", "pull_request")],
  },
  bitbucket: {
    "a pull request": [
      from("bitbucket", "pull-request-created", "pullrequest:created"),
      from("bitbucket", "push-to-branch", "repo:push"),
    ],
    "a failed build": [
      from("bitbucket", "build-failed", "repo:commit_status_created", { commit_status: { state: "INPROGRESS" } }),
      from("bitbucket", "build-failed", "repo:commit_status_updated"),
    ],
    "an issue that is closed with a comment": [
      from("bitbucket", "issue-comment", "issue:comment_created"),
      from("bitbucket", "issue-comment", "issue:updated", {
        changes: { status: { old: "open", new: "resolved" } },
      }),
    ],
    "a reopened issue": [
      from("bitbucket", "issue-created", "issue:updated", { changes: { status: { old: "resolved", new: "open" } } }),
    ],
  },
  jira: {
    "a comment": [
      from("jira", "comment-created", "comment_created"),
      jiraUpdate("issue_commented", { comment: sample("jira", "comment-created")["comment"] }),
    ],
    "a comment of Data Center": [
      from("jira", "data-center-comment", "jira:issue_updated"),
      from("jira", "data-center-comment", "comment_created", {
        webhookEvent: "comment_created",
        issue_event_type_name: undefined,
      }),
    ],
    "a new issue with an assignee": [from("jira", "issue-created", "jira:issue_created")],
    "a reopened issue": [from("jira", "issue-reopened", "jira:issue_updated")],
  },
  linear: {
    "an issue": [from("linear", "issue-create", "Issue")],
    "a comment": [from("linear", "comment-create", "Comment")],
  },
  telegram: {
    "a message": [from("telegram", "group-message", "message")],
    "a post in a channel with a group for discussion": [
      from("telegram", "channel-post", "channel_post"),
      from("telegram", "group-message", "message", { update_id: 10905, message: DISCUSSED }),
    ],
    "an album of three photos": [20, 21, 22].map((id) =>
      from("telegram", "photo", "message", {
        update_id: 10900 + id,
        message: { message_id: id, media_group_id: "13579", caption: id === 20 ? "Three of them." : undefined },
      }),
    ),
  },
  stripe: {
    "a failed renewal": [
      stripe("invoice-payment-failed", { id: "evt_r1" }),
      stripe("payment-failed", { id: "evt_r2" }),
      stripe("subscription-cancelled-later", {
        id: "evt_r3",
        data: { object: { status: "past_due" }, previous_attributes: { status: "active" } },
      }),
    ],
    "a sale of a subscription": [
      stripe("checkout-completed", { id: "evt_s1", data: { object: { customer: "cus_other" } } }),
      stripe("subscription-cancelled-later", {
        id: "evt_s2",
        type: "customer.subscription.created",
        data: { object: { customer: "cus_other" } },
      }),
    ],
    "a dispute": [
      stripe("dispute-created", { id: "evt_d1" }),
      stripe("dispute-created", { id: "evt_d2", type: "charge.dispute.funds_withdrawn" }),
    ],
  },
  pagerduty: {
    "an incident": [
      from("pagerduty", "incident-triggered", "incident.triggered"),
      from("pagerduty", "incident-acknowledged", "incident.acknowledged"),
    ],
  },
  shopify: {
    "an order": [
      from("shopify", "order-created", "ORDERS_CREATE"),
      from("shopify", "risk", "ORDERS_RISK_ASSESSMENT_CHANGED", { risk_level: "low" }),
      from("shopify", "order-updated", "ORDERS_UPDATED"),
    ],
  },
  zendesk: {
    "a ticket": [
      from("zendesk", "ticket-created", "zen:event-type:ticket.created"),
      from("zendesk", "comment-that-is-the-description", "zen:event-type:ticket.comment_added"),
    ],
    "a comment of a customer": [
      from("zendesk", "comment-added", "zen:event-type:ticket.comment_added"),
      from("zendesk", "status-changed", "zen:event-type:ticket.status_changed"),
    ],
  },
  azuredevops: {
    "a pull request": [
      from("azuredevops", "pull-request-created", "git.pullrequest.created"),
      from("azuredevops", "merge-tried", "git.pullrequest.merged"),
    ],
    "a completed pull request": [
      from("azuredevops", "pull-request-merged", "git.pullrequest.updated", {
        id: "c1",
        eventType: "git.pullrequest.updated",
        resource: { lastMergeCommit: MERGE },
      }),
      from("azuredevops", "pull-request-merged", "git.pullrequest.merged", { resource: { lastMergeCommit: MERGE } }),
      from("azuredevops", "push", "git.push"),
    ],
    "a failed run": [
      from("azuredevops", "build-failed", "build.complete", {
        resource: { id: 728, finishTime: "2026-11-20T09:45:00.3Z" },
      }),
      from("azuredevops", "run-failed", "ms.vss-pipelines.run-state-changed-event"),
    ],
    "a comment on a work item": [from("azuredevops", "work-item-commented", "workitem.commented")],
  },
};

/** A sample as this event, with other fields. Each request has an id of its own. */
function from(preset: string, name: string, subscription: string, change: Fields = {}): Delivery {
  const file = new URL(`../../../presets/${preset}/samples/${name}.request.json`, import.meta.url);
  const { headers = {} } = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
  const entries = Object.entries(headers as Record<string, string>).map(([header, value]) => {
    if (/event-key|topic|gitea-event/i.test(header)) return [header, toHeader(subscription, value)];
    return [
      header,
      /delivery|request-uuid|webhook-id|invocation|identifier|event-uuid|idempotency/i.test(header)
        ? crypto.randomUUID()
        : value,
    ];
  });
  return { subscription, payload: merge(sample(preset, name), change), headers: Object.fromEntries(entries) };
}

/** The header keeps its value where a subscription is named otherwise. */
function toHeader(subscription: string, value: string): string {
  return subscription.includes(":") && !subscription.startsWith("zen:") ? subscription : value;
}

function github(event: string, payload: Fields): Delivery {
  const repository = sample("github", "workflow-failed")["repository"];
  const headers = { "x-github-event": event, "x-github-delivery": crypto.randomUUID() };
  return { subscription: event, payload: { repository, sender: { login: "ann", type: "User" }, ...payload }, headers };
}

function jiraUpdate(type: string, change: Fields): Delivery {
  const update = from("jira", "issue-reopened", "jira:issue_updated", { issue_event_type_name: type, ...change });
  return { ...update, payload: { ...Object(update.payload), changelog: undefined } };
}

function stripe(name: string, change: Fields): Delivery {
  const payload = merge(sample("stripe", name), change);
  return { subscription: String(payload["type"]), payload, headers: {} };
}

function sample(preset: string, name: string): Fields {
  const file = new URL(`../../../presets/${preset}/samples/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(file, "utf8"));
}

function merge(value: Fields, change: Fields): Fields {
  const entries = Object.entries(change).map(([key, other]) => {
    const own = value[key];
    return [key, isObject(own) && isObject(other) ? merge(own, other) : other];
  });
  return { ...value, ...Object.fromEntries(entries) };
}
