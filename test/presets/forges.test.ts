/** Facts about the forges and trackers that samples cannot show: the options, and one conversation for several events. */
import { describe, expect, test } from "vitest";
import { usePreset } from "../support/preset.ts";

const ann = { username: "ann", login: "ann", nickname: "ann", displayName: "Ann", name: "Ann", id: "a1", type: "user" };
const bob = { ...ann, username: "bob", login: "bob", nickname: "bob", name: "Bob", displayName: "Bob" };
const eve = { ...ann, username: "eve" };
const wip = [{ title: "WIP", name: "WIP" }];

const skips = {
  self: "the agent itself did it",
  sender: "@bob (gitlab:a1) is not in from: member, !@b*",
  label: "it has an ignored label (WIP)",
  branch: "it is about an ignored branch (old)",
};

const merge = (attributes: object, user = ann): object => ({
  object_kind: "merge_request",
  user,
  object_attributes: { action: "open", ...attributes },
});
const pull = (fields: object, sender = bob): object => ({
  action: "opened",
  sender,
  pull_request: { number: 4, ...fields },
});
const cloud = (branch: string, actor = bob): object => ({
  actor,
  pullrequest: { id: 4, destination: { branch: { name: branch } } },
});
const issue = { type: "Issue", action: "create", data: { id: "i4", labels: wip } };
const ticket = { webhookEvent: "jira:issue_created", issue: { key: "A-4", fields: { labels: ["WIP"] } } };
const page = {
  id: "e1",
  type: "page.created",
  entity: { id: "p1", type: "page" },
  authors: [{ id: "a1", type: "bot" }],
};

const cases: Record<string, { options: object; from?: string; payloads: [object, string][] }> = {
  gitlab: {
    options: { self: "Ann", labels: "wip", branches: "old" },
    from: "!@b*",
    payloads: [
      [merge({}), `${skips.self} (ann)`],
      [merge({}, bob), skips.sender],
      [merge({ labels: wip }, eve), skips.label],
      [merge({ target_branch: "old" }, eve), skips.branch],
    ],
  },
  gitea: {
    options: { self: "ann", labels: "wip", branches: "old" },
    payloads: [
      [pull({}, ann), `${skips.self} (ann)`],
      [pull({ labels: wip }), skips.label],
      [pull({ base: { ref: "old" } }), skips.branch],
    ],
  },
  bitbucket: {
    options: { self: "ann", branches: "old" },
    payloads: [
      [cloud("main", ann), `${skips.self} (ann)`],
      [cloud("old"), skips.branch],
    ],
  },
  linear: {
    options: { self: "a1", labels: "wip" },
    payloads: [
      [{ ...issue, actor: ann }, `${skips.self} (a1)`],
      [issue, skips.label],
    ],
  },
  jira: {
    options: { self: "ann", labels: "wip" },
    payloads: [
      [{ ...ticket, user: ann }, `${skips.self} (Ann)`],
      [ticket, skips.label],
    ],
  },
  notion: { options: { bots: false, self: "a1" }, payloads: [[page, `${skips.self} (a1)`]] },
};

test.each(Object.entries(cases))("%s skips what ignore names", async (name, { options, from, payloads }) => {
  const post = await usePreset(name, { ignore: options, ...(from && { from }) });
  const headers = { "x-gitea-event": "pull_request", "x-event-key": "pullrequest:created" };
  for (const [payload, reason] of payloads) {
    expect(await post(payload, headers)).toMatchObject({ actions: [], reason });
  }
});

describe("gitlab", async () => {
  const post = await usePreset("gitlab");

  test("a merge request, its comments and its pipelines are one conversation", async () => {
    const project = { path_with_namespace: "acme/shop", visibility_level: 0 };
    const pipeline = { object_kind: "pipeline", object_attributes: { status: "failed" }, merge_request: { iid: 4 } };
    const note = { object_kind: "note", object_attributes: { note: "Why?" }, merge_request: { iid: 4 } };
    for (const payload of [merge({ iid: 4 }), pipeline, note]) {
      expect((await post({ ...payload, project })).actions).toMatchObject([{ sessionKey: "hook:gitlab:acme/shop!4" }]);
    }
  });

  test("before version 17.4 a delivery is recognized by its event and object", async () => {
    const { idempotency } = await post(merge({ id: 1 }), { "x-gitlab-event-uuid": "u1" });
    expect(idempotency?.keys).toEqual(["u1:merge_request:1"]);
  });
});

test("bitbucket tells pushes to mainBranches", async () => {
  const post = await usePreset("bitbucket", { mainBranches: ["release/*"] });
  const push = (name: string): object => ({ push: { changes: [{ new: { type: "branch", name } }] } });
  expect((await post(push("release/3"))).actions).toHaveLength(1);
  expect(await post(push("main"))).toMatchObject({ actions: [], reason: "it is not to a main branch (main)" });
});
