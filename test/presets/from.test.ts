/** Every sample of every preset with `from`, as that of a stranger, of a member, of somebody whom `from` names, of a bot. */
import { describe, expect, test } from "vitest";
import { findPresets, readPreset } from "../../src/core/config/presets/file.ts";
import { isObject, toObject } from "../../src/core/shared/json.ts";
import type { HookAction, Resolution } from "../../src/core/types.ts";
import { readConfig } from "../../src/service/drivers.ts";
import { readSamples, usePreset } from "../support/preset.ts";

const withFrom = findPresets().filter((name) => readPreset(name).preset.from);

test("27 presets know who is behind an event, and 30 mappings of 18 ask", () => {
  const asking = withFrom.map((name) => readPreset(name).preset.mappings.filter(({ asks }) => asks === true).length);
  expect(withFrom).toHaveLength(27);
  expect(asking.filter((count) => count > 0)).toHaveLength(18);
  expect(asking.reduce((sum, count) => sum + count)).toBe(30);
});

type Post = Awaited<ReturnType<typeof usePreset>>;

type Turn = Extract<HookAction, { kind: "agent" }>;

function turnsOf({ actions }: Resolution): Turn[] {
  return actions.filter((action) => action.kind === "agent");
}

describe.each(withFrom)("%s", async (name) => {
  const { preset } = readPreset(name);
  const options = { ...(preset.events && { events: ["*"] }), ...(preset.mention && { mention: false }) };
  const known = new Map<string, Promise<Post>>();
  const use = (from: unknown): Promise<Post> => {
    const key = JSON.stringify(from);
    const post = known.get(key) ?? usePreset(name, { ...options, from });
    known.set(key, post);
    return post;
  };
  const [nobody, anyone] = await Promise.all([use([]), use("anyone")]);
  const asksAll = preset.from?.asks === true;
  const asking = new Set(preset.mappings.filter(({ asks }) => asks === true).map(({ id }) => id));

  test.each(readSamples(name))("sample $name", async ({ payload, headers }) => {
    const all = await anyone(payload, headers);
    const closed = await nobody(payload, headers);
    const turns = turnsOf(all);
    // An event that is skipped for another reason, also for everybody.
    if (turns.length === 0) return expect(turnsOf(closed)).toEqual([]);
    const id = String(all.mapping).replace(`${name}-`, "");
    const asks = asksAll || asking.has(id) || (asking.size > 0 && preset.mappings.length === 1);
    const people = turns.filter(({ author }) => author);
    for (const turn of turns) expect(turn.stranger).toBe(turn.author ? true : undefined);
    const [first] = people;
    if (!first?.author?.id) return expect(turnsOf(closed).every(({ stranger }) => !stranger)).toBe(true);
    if (asks) {
      expect(turnsOf(closed)).toHaveLength(turns.length - people.length);
      if (turns.length === 1) expect(closed.reason).toMatch(/ is not in from: \[\]$/);
    } else {
      expect(turnsOf(closed)).toHaveLength(turns.length);
      expect(turnsOf(closed).some(({ stranger }) => stranger)).toBe(true);
    }
    const isVerified = !first.author.roles?.includes("no DMARC pass");
    const own = first.author.id;
    const named = turnsOf(await (await use(own))(payload, headers));
    if (isVerified && own.startsWith(`${name}:`)) expect(named[0]).toMatchObject({ author: first.author });
    if (isVerified && own.startsWith(`${name}:`)) expect(named[0]?.stranger).toBeUndefined();
    const never = await (await use(["anyone", `!${own}`]))(payload, headers);
    expect(turnsOf(never).map(({ author }) => author?.id)).not.toContain(own);
  });
});

/** How a sample becomes that of somebody else. */
type Change = (payload: Record<string, unknown>) => void;

function at(payload: unknown, dotted: string): Record<string, unknown> {
  const found = dotted
    .split(".")
    .filter(Boolean)
    .reduce<unknown>(
      (value, key) => (isObject(value) || Array.isArray(value) ? Reflect.get(value, key) : undefined),
      payload,
    );
  return toObject(found);
}

const set =
  (place: string, fields: object): Change =>
  (payload) =>
    Object.assign(at(payload, place), fields);
const all =
  (...changes: Change[]): Change =>
  (payload) =>
    changes.forEach((change) => change(payload));
const open = set("repository", { private: false });
const asNow: Change = () => {};
const comment = (association: string): Change => all(open, set("comment", { author_association: association }));

const PEOPLE: [preset: string, sample: string, who: string, change: Change, runs: boolean][] = [
  ["github", "issue-comment", "in a private repository", set("comment", { author_association: "NONE" }), true],
  ["github", "issue-comment", "OWNER", comment("OWNER"), true],
  ["github", "issue-comment", "MEMBER", comment("MEMBER"), true],
  ["github", "issue-comment", "COLLABORATOR", comment("COLLABORATOR"), true],
  ["github", "issue-comment", "CONTRIBUTOR", comment("CONTRIBUTOR"), false],
  ["github", "issue-comment", "FIRST_TIMER", comment("FIRST_TIMER"), false],
  ["github", "issue-comment", "MANNEQUIN", comment("MANNEQUIN"), false],
  ["github", "issue-comment", "NONE", comment("NONE"), false],
  [
    "github",
    "issue-comment",
    "who is none beside an owner's issue",
    all(comment("NONE"), set("issue", { author_association: "OWNER" })),
    false,
  ],
  [
    "github",
    "issue-comment",
    "without a role beside an owner's issue",
    all(
      open,
      (one) => void delete at(one, "comment")["author_association"],
      set("issue", { author_association: "OWNER" }),
    ),
    false,
  ],
  [
    "github",
    "review-changes-requested",
    "CONTRIBUTOR",
    all(
      open,
      set("review", { author_association: "CONTRIBUTOR" }),
      set("pull_request", { author_association: "OWNER" }),
    ),
    false,
  ],
  ["github", "review-changes-requested", "MEMBER", all(open, set("review", { author_association: "MEMBER" })), true],
  ["gitlab", "issue-comment", "in a private project", set("project", { visibility_level: 0 }), true],
  ["gitlab", "issue-comment", "in an internal project", set("project", { visibility_level: 10 }), true],
  ["gitlab", "issue-comment", "in a public project", set("project", { visibility_level: 20 }), false],
  [
    "gitlab",
    "issue-comment",
    "in a project that says nothing",
    (one) => void delete at(one, "project")["visibility_level"],
    false,
  ],
  ["gitea", "issue-comment", "in a private repository", asNow, true],
  ["gitea", "issue-comment", "in a public repository", open, false],
  ["gitea", "issue-comment", "in a private organization", set("repository", { private: false, internal: true }), true],
  ["bitbucket", "issue-comment", "in a private repository", asNow, true],
  ["bitbucket", "issue-comment", "in a public repository", set("repository", { is_private: false }), false],
  ["bitbucket", "data-center-comment", "in a private repository", asNow, true],
  [
    "bitbucket",
    "data-center-comment",
    "in a public repository",
    set("pullRequest.toRef.repository", { public: true }),
    false,
  ],
  [
    "bitbucket",
    "data-center-comment",
    "in a public project",
    set("pullRequest.toRef.repository.project", { public: true }),
    false,
  ],
  ["jira", "comment-created", "atlassian", asNow, true],
  ["jira", "comment-created", "a customer", set("comment.author", { accountType: "customer" }), false],
  ["jira", "data-center-comment", "on a server that names no type", asNow, true],
  ["linear", "comment-create", "of the workspace", asNow, true],
  ["linear", "comment-create", "an external user", set("data", { externalUser: { id: "e1", name: "Eve" } }), false],
  ["notion", "comment-created", "a person", asNow, true],
  [
    "gitea",
    "issue-comment",
    "in a repository that says nothing",
    (one) => void delete at(one, "repository")["private"],
    false,
  ],
  ["azuredevops", "comment", "of the organization", asNow, true],
  ["sentry", "comment", "of the organization", asNow, true],
  ["pagerduty", "note", "of the account", asNow, true],
  ["mattermost", "post", "of the server", asNow, true],
  ["slack", "mention", "of the workspace", asNow, true],
  ["slack", "mention", "of another workspace", set("event", { team: "T0OTHER" }), false],
  ["slack", "mention", "whose home is another workspace", set("event", { user_team: "T0OTHER" }), false],
  ["slack", "mention", "a guest", set("event", { user_profile: { is_restricted: true } }), false],
  ["slack", "mention", "a guest of one channel", set("event", { user_profile: { is_ultra_restricted: true } }), false],
  [
    "slack",
    "mention",
    "in a shared channel, who says no workspace",
    all(set("", { is_ext_shared_channel: true }), (one) => void delete at(one, "event")["team"]),
    false,
  ],
  ["slack", "button", "of another workspace", set("user", { team_id: "T0OTHER" }), false],
  ["slack", "slash-command", "of the workspace", asNow, true],
  ["teams", "mention", "of the tenant", asNow, true],
  ["teams", "mention", "of another tenant", set("channelData.tenant", { id: "0000" }), false],
  ["teams", "mention", "whose home is another tenant", set("from", { tenantId: "0000" }), false],
  ["teams", "mention", "a guest", set("from", { userRole: "guest" }), false],
  ["googlechat", "mention", "of the organization", asNow, true],
  ["googlechat", "mention", "in a space for guests", set("space", { externalUserAllowed: true }), false],
];

test.each(PEOPLE)("%s %s: somebody %s", async (...row) => {
  const [name, sample, , change, runs] = row;
  const { payload, headers } = readSamples(name).find((one) => one.name === sample)!;
  change(toObject(payload));
  const post = await usePreset(name);
  const resolution = await post(payload, headers);
  expect({ turns: turnsOf(resolution).length, reason: resolution.reason }).toEqual(
    runs ? { turns: 1, reason: undefined } : { turns: 0, reason: expect.stringMatching(/ is not in from: member$/) },
  );
});

/** Samples of a person that become those of a bot, of each preset that tells bots from people. */
const BOTS: [preset: string, sample: string, change: Change][] = [
  ["azuredevops", "comment", set("resource.comment.author", { displayName: "Shop Build Service (acme)" })],
  ["bitbucket", "issue-comment", set("actor", { type: "app_user" })],
  ["discord", "direct-message", all(set("d.author", { bot: true }), set("event.data.author", { bot: true }))],
  ["gitea", "issue-comment", set("sender", { login: "renovate-bot" })],
  ["github", "issue-comment", set("sender", { type: "Bot" })],
  ["gitlab", "issue-comment", set("user", { username: "project_12_bot_3f" })],
  ["googlechat", "mention", all(set("message.sender", { type: "BOT" }), set("user", { type: "BOT" }))],
  ["intercom", "bot-replied", asNow],
  [
    "intercom",
    "user-replied",
    set("data.item.conversation_parts.conversation_parts.0.author", { from_ai_agent: true }),
  ],
  [
    "jira",
    "comment-created",
    all(set("comment.author", { accountType: "app" }), set("comment.updateAuthor", { accountType: "app" })),
  ],
  ["linear", "comment-create", set("actor", { type: "integration" })],
  ["notion", "comment-created", set("authors.0", { type: "bot" })],
  ["notion", "comment-created", set("authors.0", { type: "agent" })],
  ["sentry", "comment", set("actor", { type: "application" })],
  ["slack", "mention", set("event", { bot_id: "B01" })],
  ["teams", "mention", set("from", { role: "bot" })],
  ["telegram", "direct-message", set("message.from", { is_bot: true })],
];

test.each(BOTS)("%s %s: a bot starts nothing, unless from names it", async (name, sample, change) => {
  const { payload, headers } = readSamples(name).find((one) => one.name === sample)!;
  change(toObject(payload));
  const turnsWith = async (options: object): Promise<Turn[]> =>
    turnsOf(await (await usePreset(name, options))(payload, headers));
  expect(await turnsWith({ from: "anyone" })).toEqual([]);
  const [turn] = await turnsWith({ from: "anyone", ignore: { bots: false } });
  expect(await turnsWith({ from: turn?.author?.id })).toMatchObject([{ author: turn?.author }]);
});

test("each preset that tells bots from people has a row", () => {
  const telling = withFrom.filter((name) => "bots" in (readPreset(name).preset.ignore ?? {}));
  expect([...new Set(BOTS.map(([name]) => name))]).toEqual(telling);
});

describe("github", () => {
  const read = (sample: string, change: Change) => {
    const found = readSamples("github").find(({ name }) => name === sample)!;
    change(toObject(found.payload));
    return found;
  };
  const channels = { github: { token: "t" } };
  const resolve = async (sample: ReturnType<typeof read>, options: Record<string, unknown> = {}) =>
    (await usePreset("github", options, channels))(sample.payload, sample.headers);

  test("a concealed member arrives as a contributor, and is listed", async () => {
    const sample = read("issue-comment", all(comment("CONTRIBUTOR"), set("comment.user", { id: 9, login: "x" })));
    expect(await resolve(sample)).toMatchObject({
      actions: [],
      reason: "@x (github:9, contributor) is not in from: member",
    });
    for (const from of [["member", "github:9"], ["member", "@x"], "contributor"]) {
      expect((await resolve(sample, { from })).actions).toMatchObject([{ author: { id: "github:9" } }]);
    }
  });

  test("a pull request of a stranger is a stranger's turn, unless a member labels it", async () => {
    const stranger = all(open, set("pull_request", { author_association: "NONE" }));
    const opened = read("pull-request-opened", stranger);
    const options = { events: ["*"], channel: "source", review: "approve" };
    expect(turnsOf(await resolve(opened, options))).toMatchObject([{ stranger: true, review: "request-changes" }]);
    const labeled = read("pull-request-opened", all(stranger, set("", { action: "labeled" })));
    const [turn] = turnsOf(await resolve(labeled, options));
    expect([turn?.stranger, turn?.review]).toEqual([undefined, "approve"]);
  });

  test("an edit by somebody else than the author is skipped", async () => {
    const edited = read("issue-comment", set("", { action: "edited" }));
    const events = ["issue_comment.*"];
    expect((await resolve(edited, { events })).actions).toHaveLength(1);
    set("sender", { id: 77, login: "else" })(toObject(edited.payload));
    expect(await resolve(edited, { events })).toMatchObject({
      actions: [],
      reason: "somebody else than its author edited it",
    });
  });

  test("a bot that is named passes ignore.bots", async () => {
    const bot = { id: 49699333, login: "dependabot[bot]", type: "Bot" };
    const sample = read("issue-comment", all(set("comment", { user: bot }), set("", { sender: bot })));
    expect(await resolve(sample)).toMatchObject({ actions: [], reason: expect.stringContaining("a bot did it") });
    for (const name of ["github:49699333", "@dependabot[bot]"]) {
      expect((await resolve(sample, { from: ["member", name] })).actions).toHaveLength(1);
    }
    expect((await resolve(sample, { from: ["member", "anyone"] })).actions).toEqual([]);
  });

  test("a run of a fork is a stranger's, one of the repository is a machine's", async () => {
    const fork = read(
      "workflow-failed",
      all(open, set("workflow_run", { head_repository: { id: 1 }, actor: { id: 9, login: "x" } })),
    );
    expect(turnsOf(await resolve(fork))).toMatchObject([{ stranger: true, author: { id: "github:9" } }]);
    const own = read("workflow-failed", open);
    expect(turnsOf(await resolve(own))[0]?.author).toBeUndefined();
  });
});

test("people of a Telegram chat that place names are members, if it has no public name", async () => {
  const { payload } = readSamples("telegram").find(({ name }) => name === "group-message")!;
  const turnsWith = async (place: string[]) => {
    const post = await usePreset("telegram", { from: "member", place });
    return turnsOf(await post(payload)).length;
  };
  expect(await turnsWith(["-1001234567890"])).toBe(1);
  expect(await turnsWith(["-100*"])).toBe(0);
  set("message.chat", { username: "shop_team" })(toObject(payload));
  expect(await turnsWith(["-1001234567890"])).toBe(0);
});

describe("in a configuration", () => {
  const problemsOf = async (use: string, options: Record<string, unknown>): Promise<string[]> => {
    const { problems } = await readConfig({ hooks: { presets: [{ use, with: options }] } }, {});
    return problems.map(({ key, message }) => `${key}: ${message}`);
  };

  test.each(["telegram", "whatsapp", "discord", "twilio"])("%s needs from, unless it starts nothing", async (name) => {
    const sentence = `hooks.presets[0]: Anyone in the world can write to ${name}. Set with.from: ids such as "${name}:42", or "anyone".`;
    expect(await problemsOf(name, {})).toContain(sentence);
    expect(await problemsOf(name, { from: `!${name}:1` })).toContain(sentence);
    for (const options of [
      { action: "none", publish: true },
      { from: [] },
      { from: "anyone" },
      { from: `${name}:42` },
    ]) {
      expect(await problemsOf(name, options)).not.toContain(sentence);
    }
    const post = await usePreset(name, { action: "none", publish: true, from: [] });
    for (const { payload, headers } of readSamples(name)) {
      expect((await post(payload, headers)).reason ?? "").not.toContain("is not in from");
    }
  });

  test.each([
    ["github", "members", '"members" names nobody; did you mean "member"?'],
    ["github", ["member", "!gitlab:1"], '"gitlab:1" names nobody. Expected member, owner, '],
    ["gitlab", "owner", '"owner" names nobody. Expected member, gitlab:<id>, @<name>, anyone.'],
    ["slack", "slack:U1", '"slack:U1" names nobody'],
    ["mail", "acme.com", '"acme.com" names nobody'],
  ])("%s does not take %j", async (name, from, message) => {
    expect((await problemsOf(name, { from })).join("\n")).toContain(message);
  });

  test("a list of exclusions adds to the default", async () => {
    const { config } = await readConfig({ hooks: { presets: [{ use: "github", with: { from: ["!@x"] } }] } }, {});
    expect(config.hooks.mappings[0]?.mapping.from).toEqual({ is: ["member", "!@x"] });
  });

  test.each(findPresets().filter((name) => !withFrom.includes(name)))("%s does not know from", async (name) => {
    expect((await problemsOf(name, { from: "anyone" })).join("\n")).toContain('The key "from" is unknown');
  });
});
