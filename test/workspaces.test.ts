/** Agents that work on the files of a repository, beside doubles of the services that have it. The sandbox is open here. */
import { rmSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import type { UserConfig } from "../src/core/config/schema/generated.ts";
import { makeOpenBox } from "./support/box.ts";
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
afterEach(async () => {
  await service?.close();
  await forge?.close();
});

/** The agent is a shell that obeys what follows `run:` in the last such line of its prompt. */
const OBEY = 'prompt=$(cat); eval "$(printf "%s\n" "$prompt" | sed -n "s/^run: //p" | tail -1)"';

interface Kind {
  kind: ForgeKind;
  /** An issue by a member whose text is this. */
  issue(text: string): Posted;
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
    issue: (body) =>
      github("issues", { action: "opened", issue: { id: 1, number: 7, title: "It is 1", body, user: ANN } }),
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
    issue: (description) =>
      gitlab({
        object_kind: "issue",
        object_attributes: { id: 1, iid: 7, title: "It is 1", description, action: "open", state: "opened" },
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
    issue: (body) =>
      gitea("issues", { action: "opened", issue: { id: 1, number: 7, title: "It is 1", body, user: ANN }, number: 7 }),
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

function configOf(kind: ForgeKind, options: Record<string, unknown> = {}): UserConfig {
  return {
    agents: {
      providers: { coder: { kind: "command", command: ["/bin/sh", "-c", OBEY], sandbox: true } },
      defaults: { model: "coder/default" },
      approvals: {},
    },
    channels: { [kind]: { token: FORGE_TOKEN, baseUrl: forge.url } },
    hooks: {
      presets: [
        {
          use: kind,
          with: {
            place: "acme/app",
            workspace: true,
            grants: { [`${kind}.change`]: "allow" },
            deliver: false,
            wakeMode: "next-heartbeat",
            ...options,
          },
        },
      ],
    },
  };
}

async function start(kind: ForgeKind, options?: Record<string, unknown>): Promise<void> {
  forge = await startForge(kind);
  forge.commit({ "README.md": "hello\n", "src/a.ts": "1\n", ".gitignore": "built\n" });
  service = await startService({ config: configOf(kind, options) });
}

/** Posts an event, and gives its record once it is executed. */
async function post({ payload, headers }: Posted): Promise<ReturnType<typeof JSON.parse>> {
  const { body } = await service.post(current, payload, headers);
  if (body?.eventId === undefined) {
    const { events } = await service.api("/api/events?limit=1");
    return events[0];
  }
  return service.settled(body.eventId);
}

let current: ForgeKind = "github";
const BRANCH = /^agent\/[0-9a-f]{8}$/;

describe.each(KINDS)("$kind", ({ kind, issue, comment, check, to }) => {
  test("from an event to a draft pull request, and on by comments and checks", async () => {
    current = kind;
    await start(kind);
    const base = forge.branches()["main"]!;
    const first = await post(
      issue(
        "run: echo 2 > src/a.ts; mkdir built; echo x > built/x; echo '## It fixes #1 @ann'; echo; echo 'It was 1.'",
      ),
    );
    expect(first.runs[0]).toMatchObject({ state: "done" });
    const [branch = ""] = Object.keys(forge.branches()).filter((name) => BRANCH.test(name));
    const head = forge.branches()[branch]!;
    expect(forge.git("show", "--format=%an <%ae>%n%s", "--stat", head)).toMatch(
      /^Hookline <hookline@localhost>\nIt fixes #1 @ann\n\n src\/a\.ts \| 2 \+-/,
    );
    expect(forge.git("rev-parse", `${head}^`)).toBe(base);
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

    const second = await post(comment(pull?.number ?? 0, "run: cat src/a.ts built/x; echo 3 > src/a.ts"));
    expect(second.runs[0]).toMatchObject({ sessionKey: first.runs[0].sessionKey, state: "done" });
    expect(second.runs[0].reply).toMatch(/^2\nx/);
    const next = forge.branches()[branch]!;
    expect(forge.git("rev-parse", `${next}^`)).toBe(head);
    expect(forge.pulls).toHaveLength(1);

    // Checks of an older commit and of the head, twice.
    expect(await post(check(branch, head))).toMatchObject({ status: "skipped", reason: "about an older commit" });
    const third = await post(check(branch, next));
    expect(third.runs[0]).toMatchObject({ sessionKey: first.runs[0].sessionKey, state: "done" });
    expect(await post(check(branch, next))).toMatchObject({
      status: "skipped",
      reason: "this commit has its turn already",
    });

    // The rest is the same for all.
    if (kind !== "github") return;
    // A person pushes: the work that nobody has pushed is dropped.
    const theirs = forge.commit({ "src/a.ts": "4\n" }, { branch });
    const fourth = await post(
      comment(pull?.number ?? 0, "run: cat src/a.ts; printf '%s' \"$prompt\" | grep -c 'th[o]se of its newest'"),
    );
    expect(fourth.runs[0].reply).toMatch(/^4\n1/);
    expect(forge.branches()[branch]).toBe(theirs);

    // After the end of a pull request the next one begins from the base.
    pull!.state = "merged";
    const fifth = await post(issue("run: cat src/a.ts; echo 5 > src/a.ts"));
    expect(fifth.runs[0].reply).toMatch(/^1\n/);
    expect(forge.git("rev-parse", `${branch}-2^`)).toBe(base);
    expect(forge.pulls.map(({ head: from }) => from)).toEqual([`acme/app:${branch}`, `acme/app:${branch}-2`]);
    expect(forge.pushed.every((ref) => ref.startsWith("refs/heads/agent/"))).toBe(true);
    expect(to(forge.pulls[1]!.number)).toContain("acme/app");
  });
});
