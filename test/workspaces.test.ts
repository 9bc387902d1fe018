/** Agents that work on the files of a repository, beside doubles of the services that have it. The sandbox is open here. */
import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { UserConfig } from "../src/core/config/schema/generated.ts";
import { makeOpenBox } from "./support/box.ts";
import { waitFor } from "./support/client.ts";
import { type Forge, FORGE_TOKEN, type ForgeKind, startForge } from "./support/forge.ts";
import { type Service, startService } from "./support/service.ts";

let box: string;
beforeAll(() => {
  box = makeOpenBox();
  vi.stubEnv("PATH", `${box}:${process.env["PATH"]}`);
});
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(box, { recursive: true });
});

let forge: Forge;
let service: Service;
const stop = async (): Promise<void> => {
  await service.close();
  await forge.close();
};

/** The agent is a shell that obeys what follows `run:` in the last such line of its prompt. It reads it without other programs. */
const OBEY = `
while read -r word rest || [ -n "$word" ]; do
  prompt="$prompt$word $rest
"
  [ "$word" != run: ] || asked=$rest
done
said=$(eval "$asked")
[ -n "$said" ] || said=Nothing
printf '%s\\n' "$said"
`;

interface Kind {
  kind: ForgeKind;
  /** An issue by a member whose text is this. */
  issue(text: string, number?: number): Posted;
  /** A member's pull request from a fork. */
  pull(number: number, text: string, commit: string): Posted;
  /** A comment at the pull request. */
  comment(pull: number, text: string): Posted;
  /** A failed check of a commit on a branch. */
  check(branch: string, commit: string, id?: number): Posted;
  to(pull: number): string;
}

interface Posted {
  payload: Record<string, unknown>;
  headers: Record<string, string>;
}

const ANN = { login: "ann", id: 1, type: "User" };
const repository = {
  id: 7,
  full_name: "acme/app",
  private: true,
  html_url: "https://forge.test/acme/app",
  default_branch: "main",
};
let deliveries = 0;
const delivery = (name: string): Record<string, string> => ({ [name]: String((deliveries += 1)) });
const github = (event: string, payload: object): Posted => ({
  payload: { repository, sender: ANN, ...payload },
  headers: { "x-github-event": event, ...delivery("x-github-delivery") },
});
const gitea = (event: string, payload: object): Posted => ({
  payload: { repository, sender: ANN, ...payload },
  headers: { "x-gitea-event": event, ...delivery("x-gitea-delivery") },
});
const project = {
  id: 1,
  path_with_namespace: "acme/app",
  visibility_level: 0,
  web_url: "https://forge.test/acme/app",
  default_branch: "main",
};
const gitlab = (payload: object): Posted => ({
  payload: { project, user: { id: 1, username: "ann" }, ...payload },
  headers: delivery("x-gitlab-event-uuid"),
});

const KINDS: Kind[] = [
  {
    kind: "github",
    to: (pull) => `acme/app#${pull}`,
    issue: (body, number = 7) =>
      github("issues", { action: "opened", issue: { id: number, number, title: "It is 1", body, user: ANN } }),
    pull: (number, body, sha) =>
      github("pull_request", {
        action: "opened",
        pull_request: {
          id: number,
          number,
          title: "More",
          body,
          user: ANN,
          author_association: "MEMBER",
          head: { ref: "main", sha, repo: { full_name: "ann/app" } },
          base: { ref: "main", sha: "0".repeat(40), repo: repository },
        },
      }),
    comment: (number, body) =>
      github("issue_comment", {
        action: "created",
        issue: { number, title: "x", user: ANN, pull_request: { url: "u" }, draft: true },
        comment: {
          id: (deliveries += 1),
          body,
          user: ANN,
          html_url: `https://forge.test/c/${deliveries}`,
          author_association: "MEMBER",
        },
      }),
    check: (head_branch, head_sha, id = (deliveries += 1)) =>
      github("workflow_run", {
        action: "completed",
        workflow_run: {
          id,
          name: "test",
          conclusion: "failure",
          head_branch,
          head_sha,
          head_repository: repository,
          pull_requests: [],
        },
      }),
  },
  {
    kind: "gitlab",
    to: (pull) => `acme/app!${pull}`,
    issue: (description, iid = 7) =>
      gitlab({
        object_kind: "issue",
        object_attributes: { id: iid, iid, title: "It is 1", description, action: "open", state: "opened" },
      }),
    pull: (iid, description, id) =>
      gitlab({
        object_kind: "merge_request",
        object_attributes: {
          id: iid,
          iid,
          title: "More",
          description,
          action: "open",
          state: "opened",
          author_id: 1,
          source_branch: "main",
          target_branch: "main",
          source_project_id: 9,
          target_project_id: 1,
          last_commit: { id },
        },
      }),
    comment: (iid, note) =>
      gitlab({
        object_kind: "note",
        merge_request: { id: 2, iid, title: "x", draft: true },
        object_attributes: {
          id: (deliveries += 1),
          note,
          noteable_type: "MergeRequest",
          discussion_id: "a".repeat(40),
          author_id: 1,
          action: "create",
        },
      }),
    check: (ref, sha, id = (deliveries += 1)) =>
      gitlab({
        object_kind: "pipeline",
        object_attributes: { id, ref, sha, tag: false, status: "failed", source: "push" },
      }),
  },
  {
    kind: "gitea",
    to: (pull) => `acme/app#${pull}`,
    issue: (body, number = 7) =>
      gitea("issues", { action: "opened", issue: { id: number, number, title: "It is 1", body, user: ANN }, number }),
    pull: (number, body, sha) =>
      gitea("pull_request", {
        action: "opened",
        number,
        pull_request: {
          id: number,
          number,
          title: "More",
          body,
          user: ANN,
          head: { ref: "main", sha, repo: { full_name: "ann/app" } },
          base: { ref: "main", repo: repository },
        },
      }),
    comment: (number, body) =>
      gitea("issue_comment", {
        action: "created",
        is_pull: true,
        issue: { number, title: "x", user: ANN, pull_request: { merged: false } },
        comment: { id: (deliveries += 1), body, user: ANN, html_url: `https://forge.test/c/${deliveries}` },
      }),
    check: (head_branch, head_sha, id = (deliveries += 1)) =>
      gitea("workflow_run", {
        action: "completed",
        workflow_run: { id, run_number: id, head_branch, head_sha, status: "completed", conclusion: "failure" },
      }),
  },
];

/** `uses`: options of each use of the preset, by the path of its hook. */
function configOf(kind: ForgeKind, uses: Record<string, Record<string, unknown>>): UserConfig {
  return {
    agents: {
      providers: { coder: { kind: "command", command: ["/bin/sh", "-c", OBEY], sandbox: true } },
      defaults: { model: "coder/default" },
      approvals: {},
    },
    channels: { [kind]: { token: FORGE_TOKEN, baseUrl: forge.url, allow: ["acme/*"] } },
    hooks: {
      presets: Object.entries(uses).map(([name, options]) => ({
        use: kind,
        with: {
          path: name,
          place: "acme/app",
          workspace: true,
          grants: { [`${kind}.change`]: "allow" },
          deliver: false,
          wakeMode: "next-heartbeat",
          ...options,
        },
      })),
    },
  };
}

async function start(kind: ForgeKind, uses: Record<string, Record<string, unknown>>): Promise<void> {
  forge = await startForge(kind);
  forge.commit({ "README.md": "hello\n", "src/a.ts": "1\n", ".gitignore": "built\n", "AGENTS.md": "ours\n" });
  service = await startService({ config: configOf(kind, uses) });
}

type Json = ReturnType<typeof JSON.parse>;

/** Posts an event, and gives its record once it is executed. */
async function post(hook: string, posted: Posted): Promise<Json> {
  const eventId = await accept(hook, posted);
  if (eventId !== undefined) return service.settled(eventId);
  const { events } = await service.api("/api/events?limit=1");
  return events[0];
}

/** Posts an event, and gives its id; undefined if it is skipped. */
async function accept(hook: string, { payload, headers }: Posted): Promise<string | undefined> {
  const { body } = await service.post(hook, payload, headers);
  return body?.eventId;
}

const BRANCH = /^agent\/[0-9a-f]{8}$/;

describe.each(KINDS)("$kind", ({ kind, issue, pull: pullRequest, comment, check, to }) => {
  afterAll(stop);
  test("from an event to a draft pull request, and on by comments and checks", async () => {
    const bot = "acme-bot/app";
    await start(kind, { [kind]: {}, fork: { workspace: { pushTo: bot } } });
    const base = forge.branches()["main"]!;
    const first = await post(
      kind,
      issue(
        "run: echo 2 > src/a.ts; mkdir built; echo x > built/x; echo '## It fixes #1 @ann'; echo; echo 'It was 1.'",
      ),
    );
    expect(first.runs[0]).toMatchObject({ state: "done" });
    const [branch = ""] = Object.keys(forge.branches()).filter((name) => BRANCH.test(name));
    const head = forge.branches()[branch]!;
    const [parent, ...lines] = forge.git("show", "--format=%P%n%an <%ae>%n%s", "--stat", head).split("\n");
    expect(parent).toBe(base);
    expect(lines.slice(0, 4)).toEqual([
      "Hookline <hookline@localhost>",
      "It fixes #1 @ann",
      "",
      expect.stringMatching(/^ src\/a\.ts \| 2 \+-/),
    ]);
    const [pull] = forge.pulls;
    expect(pull).toMatchObject({ repository: "acme/app", base: "main", isDraft: true, state: "open" });
    // Without effects.
    expect(pull?.title).toMatch(/fix\u200Bes|fixes\u200B/);
    expect(pull?.title).toMatch(/@\u200Bann/);
    expect(pull?.body).toMatch(/^It was 1\.\n[^]*\n<!-- hookline:[\w:.-]+ -->$/);
    const address = new RegExp(`\n\nhttp://127\\.0\\.0\\.1:\\d+/acme/app/[-\\w/]+/${pull?.number}$`);
    expect(first.runs[0].reply).toMatch(address);
    expect(first.runs[0].steps).toMatchObject([
      { n: 1, kind: "context", title: "The repository", arguments: { repository: `${kind}:acme/app`, commit: base } },
      { n: 2, kind: "model" },
      {
        n: 3,
        kind: "call",
        call: `${kind}.change`,
        state: "done",
        arguments: { branch, commit: head, files: ["M src/a.ts +1 -1"], protected: [] },
      },
    ]);

    // A second change, and checks that ask for no turn, are the same for all.
    const isWhole = kind === "github";
    const edit = isWhole ? "; echo 3 > src/a.ts" : "";
    const second = await post(kind, comment(pull?.number ?? 0, `run: cat src/a.ts built/x${edit}`));
    expect(second.runs[0]).toMatchObject({ sessionKey: first.runs[0].sessionKey, state: "done" });
    expect(second.runs[0].reply).toMatch(/^2\nx/);
    const next = forge.branches()[branch]!;
    if (isWhole) expect(forge.git("rev-parse", `${next}^`)).toBe(head);
    expect(forge.pulls).toHaveLength(1);

    // Checks of an older commit and of the head, twice.
    if (isWhole)
      expect(await post(kind, check(branch, head))).toMatchObject({
        status: "skipped",
        reason: "about an older commit",
      });
    const third = await post(kind, check(branch, next));
    expect(third.runs[0]).toMatchObject({ sessionKey: first.runs[0].sessionKey, state: "done" });
    if (isWhole)
      expect(await post(kind, check(branch, next))).toMatchObject({
        status: "skipped",
        reason: "this commit has its turn already",
      });

    const before = forge.branches();
    // At the pull request of somebody else: its files, the base's words for agents, and nothing leaves.
    const theirs = forge.commit(
      { "src/a.ts": "theirs\n", "AGENTS.md": "obey\n" },
      { from: "none", ref: `refs/${kind === "gitlab" ? "merge-requests" : "pull"}/9/head` },
    );
    const read =
      "run: cat src/a.ts AGENTS.md; echo 9 > src/a.ts; printf '%s' \"$prompt\" | grep -o 'of s[o]mebody else'";
    const foreign = await post(kind, pullRequest(9, read, theirs));
    expect(foreign.runs[0]).toMatchObject({ state: "done", reply: "theirs\nours\nof somebody else" });
    expect(foreign.runs[0].steps.filter(({ kind: step }: { kind: string }) => step === "call")).toEqual([]);
    expect(forge.branches()).toEqual(before);
    expect(forge.pulls).toHaveLength(1);

    // The rest is the same for all: publish.test.ts has the pull requests of forks.
    if (!isWhole) return;
    // To a fork: the repository gets the pull request only.
    const forked = await post("fork", issue("run: echo 6 > src/a.ts; echo In a fork", 8));
    expect(forked.runs[0]).toMatchObject({ state: "done", reply: expect.stringMatching(/^In a fork\n\nhttp/) });
    const [own = ""] = Object.keys(forge.branches(bot));
    expect(own).toMatch(BRANCH);
    expect(forge.gitIn(bot, "show", `${own}:src/a.ts`)).toBe("6");
    expect(forge.branches()).toEqual(before);
    expect(forge.pulls[1]).toMatchObject({ repository: "acme/app", head: `${bot}:${own}`, isDraft: true });

    // A person pushes: the work that nobody has pushed is dropped.
    const pushed = forge.commit({ "src/a.ts": "4\n" }, { branch });
    const fourth = await post(
      kind,
      comment(pull?.number ?? 0, "run: cat src/a.ts; printf '%s' \"$prompt\" | grep -c 'th[o]se of its newest'"),
    );
    expect(fourth.runs[0].reply).toMatch(/^4\n1/);
    expect(forge.branches()[branch]).toBe(pushed);

    // Checks of three commits, the newest between the others: one turn, about the newest, and no other counts.
    const commits = [0, 1, 2].map((at) => forge.commit({ "README.md": `${at}\n` }, { branch }));
    const accepted: (string | undefined)[] = [];
    for (const at of [1, 2, 0]) accepted.push(await accept(kind, check(branch, commits[at]!)));
    const events: Json[] = await Promise.all(accepted.map((id) => service.settled(id!)));
    const turns = events.map(({ runs: [{ sessionKey, state, reply, warnings }] }) => ({
      sessionKey,
      state,
      said: reply || warnings[0],
    }));
    const { sessionKey } = first.runs[0];
    const older = "Skipped: about an older commit.";
    expect(turns).toEqual([older, "Nothing", older].map((said) => ({ sessionKey, state: "done", said })));

    // After the end of a pull request the next one begins from the base.
    pull!.state = "merged";
    const fifth = await post(kind, issue("run: cat src/a.ts; echo 5 > src/a.ts"));
    expect(fifth.runs[0].reply).toMatch(/^1\n/);
    expect(forge.git("rev-parse", `${branch}-2^`)).toBe(base);
    expect(forge.pulls.map(({ head: from }) => from)).toEqual([
      `acme/app:${branch}`,
      `${bot}:${own}`,
      `acme/app:${branch}-2`,
    ]);
    expect(forge.pushed.every((ref) => ref.startsWith("refs/heads/agent/"))).toBe(true);
    expect(to(forge.pulls[2]!.number)).toContain("acme/app");
  });
});

const USES = {
  ask: { grants: { "github.change": "ask" } },
  allow: {},
  open: { from: ["member", "anyone"] },
  setup: { workspace: { setup: ["/bin/sh", "-c", "echo broken >&2; touch built; exit 3"] } },
  tries: { workspace: { tries: 1 }, deliver: true, channel: "source" },
};

describe("what a mapping allows", () => {
  const [{ issue, comment, check }] = KINDS as [Kind];
  beforeAll(() => start("github", USES));
  afterAll(stop);

  const question = async (hook: string, posted: Posted): Promise<Json> =>
    findQuestion((await accept(hook, posted)) ?? "");
  const findQuestion = (eventId: string): Promise<Json> =>
    waitFor(async () => {
      const { approvals } = await service.api("/api/approvals?state=open");
      return approvals.find((one: Json) => one.eventId === eventId);
    }, "the question");
  const decide = async ({ id, eventId }: Json, decision: string): Promise<Json> => {
    expect(await service.operate("POST", `/api/approvals/${id}`, { decision })).toMatchObject({ status: 200 });
    return service.settled(eventId);
  };

  test("a denied change is not pushed, and stays in the tree, also while the base is gone or the service is down", async () => {
    const before = forge.branches();
    const asked = await question("ask", issue("run: echo 2 > src/a.ts; echo It is 2", 20));
    expect(asked).toMatchObject({
      call: "github.change",
      arguments: { files: ["M src/a.ts +1 -1"], title: "It is 2" },
    });
    const denied = await decide(asked, "deny");
    expect(denied.runs[0]).toMatchObject({ state: "done", reply: expect.stringContaining("It is 2") });
    expect(forge.branches()).toEqual(before);
    expect(forge.pulls).toEqual([]);
    forge.git("branch", "-m", "main", "trunk");
    const next = issue("run: cat src/a.ts; echo more > README.md", 20);
    const refused = await post("ask", next);
    expect(refused.runs).toMatchObject([
      {
        state: "failed",
        attempts: 1,
        error: expect.stringMatching(/^acme\/app has no branch main: .* Its default branch is trunk\./),
      },
    ]);
    forge.git("branch", "-m", "trunk", "main");
    forge.fail(/git-upload-pack/, 503);
    await service.operate("POST", `/api/dead-letters/${refused.runs[0].id}/retry`);
    const again = await findQuestion(refused.id);
    expect(again.arguments).toMatchObject({ title: "2", files: ["M README.md +1 -1", "M src/a.ts +1 -1"] });
    const approved = await decide(again, "approve");
    expect(approved.runs[0].reply).toMatch(/^2\n\nhttp/);
    expect(forge.git("show", `${again.arguments.branch}:src/a.ts`)).toBe("2");
    expect(forge.pulls).toMatchObject([{ title: "2", isDraft: true }]);
  });

  test("a person is asked about protected files, also where all else is allowed", async () => {
    const before = forge.branches();
    const edit = "run: mkdir -p .github/workflows; echo x > .github/workflows/a.yml; echo 2 > src/a.ts; echo CI";
    const asked = await question("allow", issue(edit, 21));
    expect(asked.arguments).toMatchObject({
      protected: [".github/workflows/a.yml"],
      files: ["A .github/workflows/a.yml +1 -0", "M src/a.ts +1 -1"],
    });
    expect(forge.branches()).toEqual(before);
    await decide(asked, "deny");
    expect(forge.branches()).toEqual(before);
  });

  test.each([
    ["that asks", "open", (): Posted => byStranger(comment(22, "run: ls -A | wc -l; echo x > theirs"))],
    ["that tells", "allow", (): Posted => byStranger(issue("run: ls -A | wc -l; echo x > theirs", 23))],
  ])("a stranger's event %s has no workspace", async (_, hook, make) => {
    const before = [forge.branches(), forge.requests.length];
    const { runs } = await post(hook, make());
    expect(runs).toMatchObject([{ state: "done", reply: "0" }]);
    expect([forge.branches(), forge.requests.length]).toEqual(before);
  });

  test("a setup that fails is a line in the prompt of the new tree, and of no other", async () => {
    const read = "run: ls built; printf '%s' \"$prompt\" | grep -o 'The set[u]p of.*'";
    const first = await post("setup", issue(read, 24));
    expect(first.runs[0].reply).toMatch(/^built\nThe setup of the repository \(.*\) ended with code 3: broken$/);
    expect((await post("setup", issue(read, 24))).runs[0].reply).toBe("built");
  });

  test("failed checks continue a session as often as tries says, then a person has to say something", async () => {
    const made = await post("tries", issue("run: echo 2 > src/a.ts; echo Tried", 25));
    const { branch } = made.runs[0].steps.at(-1).arguments;
    const { number } = forge.pulls.at(-1)!;
    /** A check fails at a new head. */
    const fail = (text: string): Promise<Json> =>
      post("tries", check(branch, forge.commit({ "README.md": text }, { branch })));
    expect((await fail("one")).runs[0]).toMatchObject({ sessionKey: made.runs[0].sessionKey, state: "done" });
    expect(forge.comments).toMatchObject([/^Tried\n/, /^Nothing\n/].map((text) => expect.stringMatching(text)));
    const two = await fail("two");
    expect(two.runs[0]).toMatchObject({ sessionKey: made.runs[0].sessionKey, state: "done" });
    expect(forge.comments.slice(2)).toEqual([
      expect.stringMatching(/^1 turn after a failed check has not made this pass, so I have stopped\./),
    ]);
    expect(await fail("three")).toMatchObject({
      status: "skipped",
      reason: "1 turn by checks has not made it pass",
    });
    expect(forge.comments).toHaveLength(3);
    await post("tries", comment(number, "run: echo Go on"));
    expect((await fail("four")).runs[0]).toMatchObject({ sessionKey: made.runs[0].sessionKey, state: "done" });
  });
});

/** The same event in a public repository, by somebody who is no member. */
function byStranger({ payload, headers }: Posted): Posted {
  const mallory = { login: "mallory", id: 666, type: "User" };
  const text = JSON.stringify({ ...payload, repository: { ...repository, private: false } })
    .replaceAll(JSON.stringify(ANN), JSON.stringify(mallory))
    .replaceAll('"MEMBER"', '"NONE"');
  return { payload: JSON.parse(text), headers };
}
