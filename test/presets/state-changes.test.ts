/** One rule for all issue trackers: assigning and reopening an issue leads to an action, another change of its state does not. */
import { expect, test } from "vitest";
import { usePreset } from "../support/preset.ts";

const ann = {
  displayName: "Ann Lee",
  name: "Ann Lee",
  login: "ann",
  username: "ann",
  type: "User",
  accountType: "atlassian",
};

const jira = (items: object[], more: object = {}) => ({
  webhookEvent: "jira:issue_updated",
  issue_event_type_name: "issue_generic",
  timestamp: 1,
  user: ann,
  issue: { id: "1", key: "OPS-1", fields: { summary: "Slow", assignee: ann } },
  changelog: { items },
  ...more,
});
const toProgress = { field: "status", from: "1", fromString: "To Do", to: "3", toString: "In Progress" };
const reopened = [
  { field: "resolution", from: "10000", fromString: "Done", to: null, toString: null },
  { field: "status", from: "5", fromString: "Done", to: "3", toString: "In Progress" },
];
const azure = (fields: object) => ({
  id: "1",
  eventType: "workitem.updated",
  resource: { workItemId: 41, fields, revisedBy: ann, revision: { id: 41, fields: { "System.Title": "Slow" } } },
});
const linear = (updatedFrom: object, data: object) => ({
  type: "Issue",
  action: "update",
  actor: ann,
  updatedFrom,
  data: { id: "i1", identifier: "ENG-1", title: "Slow", ...data },
});
const gitlab = (action: string, changes: object = {}) => ({
  object_kind: "issue",
  user: ann,
  project: { path_with_namespace: "acme/shop" },
  object_attributes: { iid: 1, title: "Slow", action },
  changes,
});
const onIssue = (action: string) => ({
  action,
  issue: { number: 1, title: "Slow", user: ann },
  repository: { full_name: "acme/shop" },
  sender: ann,
});
const bitbucket = (changes: object) => ({
  actor: { display_name: "Ann Lee", account_id: "a1" },
  repository: { full_name: "acme/shop", is_private: true },
  issue: { id: 1, title: "Slow" },
  changes,
});
const CLOSED = "Microsoft.VSTS.Common.ClosedDate";
const DONE = "2026-01-05T09:00:00Z";

const cases: [preset: string, change: string, payload: object, headline: string | undefined][] = [
  ["jira", "in progress", jira([toProgress]), undefined],
  ["jira", "done", jira([{ field: "resolution", from: null, to: "10000" }, toProgress]), undefined],
  ["jira", "reopened", jira(reopened), "reopened"],
  ["jira", "reopened", jira([toProgress], { issue_event_type_name: "issue_reopened" }), "reopened"],
  ["jira", "assigned", jira([{ field: "assignee", from: null, to: "a1", toString: "Ann Lee" }]), "issue"],
  ["azuredevops", "in progress", azure({ "System.State": { oldValue: "New", newValue: "Active" } }), undefined],
  [
    "azuredevops",
    "done",
    azure({ "System.State": { oldValue: "Active", newValue: "Closed" }, [CLOSED]: { newValue: DONE } }),
    undefined,
  ],
  [
    "azuredevops",
    "reopened",
    azure({ "System.State": { oldValue: "Closed", newValue: "Active" }, [CLOSED]: { oldValue: DONE } }),
    "reopened",
  ],
  ["azuredevops", "reopened", azure({ "System.Reason": { oldValue: "Fixed", newValue: "Reactivated" } }), "reopened"],
  ["azuredevops", "assigned", azure({ "System.AssignedTo": { newValue: ann } }), "assigned"],
  ["azuredevops", "unassigned", azure({ "System.AssignedTo": { oldValue: ann } }), undefined],
  ["linear", "in progress", linear({ stateId: "s1" }, { stateId: "s2" }), undefined],
  ["linear", "done", linear({ stateId: "s1", completedAt: null }, { completedAt: DONE }), undefined],
  ["linear", "reopened", linear({ stateId: "s3", completedAt: DONE }, { stateId: "s1" }), "reopened"],
  ["linear", "reopened", linear({ stateId: "s4", canceledAt: DONE }, { canceledAt: null }), "reopened"],
  ["linear", "assigned", linear({ assigneeId: null }, { assigneeId: "u1", assignee: ann }), "assigned"],
  ["gitlab", "done", gitlab("close"), undefined],
  ["gitlab", "reopened", gitlab("reopen"), "reopened"],
  ["gitlab", "assigned", gitlab("update", { assignees: { previous: [], current: [ann] } }), "assigned"],
  ["bitbucket", "on hold", bitbucket({ status: { old: "open", new: "on hold" } }), undefined],
  ["bitbucket", "done", bitbucket({ status: { old: "open", new: "resolved" } }), undefined],
  ["bitbucket", "reopened", bitbucket({ status: { old: "resolved", new: "open" } }), "reopened"],
  ["bitbucket", "assigned", bitbucket({ assignee: { old: null, new: ann } }), "assigned"],
  ["bitbucket", "unassigned", bitbucket({ assignee: { old: ann, new: null } }), undefined],
  ["github", "done", onIssue("closed"), undefined],
  ["github", "reopened", onIssue("reopened"), "reopened"],
  ["gitea", "done", onIssue("closed"), undefined],
  ["gitea", "reopened", onIssue("reopened"), "reopened"],
];

test.each(cases)("%s: an issue that is %s", async (preset, _change, payload, headline) => {
  const post = await usePreset(preset);
  const headers = { "x-github-event": "issues", "x-gitea-event": "issues", "x-event-key": "issue:updated" };
  const { actions, reason } = await post(payload, headers);
  if (headline === undefined) return expect({ actions, reason }).toEqual({ actions: [], reason: expect.any(String) });
  expect(actions).toMatchObject([{ message: expect.stringMatching(new RegExp(`^[\\w ]+: .*${headline}`)) }]);
});

test("an edited comment of old Jira is an edit", async () => {
  const post = await usePreset("jira");
  const comment = { id: "7", body: "Why?", author: ann, created: "2013-11-07T20:37:55.000+0100" };
  const old = (updated: string) => jira([], { issue_event_type_name: undefined, comment: { ...comment, updated } });
  expect((await post(old(comment.created))).actions).toHaveLength(1);
  expect(await post(old("2013-11-07T21:00:00.000+0100"))).toMatchObject({ actions: [], reason: expect.any(String) });
});
