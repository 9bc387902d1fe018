/** A recorded change is published by the state of its branch and of its pull requests, at the doubles of three services. */
import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { writeCommit } from "../src/agents/workspace/objects.ts";
import { publishChange, type PublishOptions } from "../src/agents/workspace/publish.ts";
import type { OfferedChange } from "../src/core/ports/agent.ts";
import type { ChannelDriver } from "../src/core/ports/channel.ts";
import { createGitea } from "../src/vendors/gitea/comments.ts";
import { createGithub } from "../src/vendors/github/comments.ts";
import { createGitlab } from "../src/vendors/gitlab/comments.ts";
import { type Forge, FORGE_TOKEN, type ForgeKind, startForge } from "./support/forge.ts";

/** The id that git gives an object. */
function idOf(type: string, content: string | Buffer): string {
  return createHash("sha1")
    .update(`${type} ${Buffer.byteLength(content)}\0`)
    .update(content)
    .digest("hex");
}

const DRIVERS: Record<ForgeKind, (options: { token: string; baseUrl: string }) => ChannelDriver> = {
  github: createGithub,
  gitlab: createGitlab,
  gitea: createGitea,
};

describe.each(["github", "gitlab", "gitea"] as const)("%s", (kind) => {
  let state: string;
  let forge: Forge;
  let base: string;
  const signal = new AbortController().signal;
  beforeAll(async () => {
    state = mkdtempSync(path.join(tmpdir(), "hookline-publish-"));
    forge = await startForge(kind);
    base = forge.commit({ "a.txt": "0\n" });
  });
  afterAll(async () => {
    await forge.close();
    rmSync(state, { recursive: true });
  });

  /** The record of a change of one file, for a branch of its own. `head`: the branch is there. */
  let made = 0;
  function make({ head }: { head?: string } = {}): OfferedChange {
    const branch = `agent/${(made += 1).toString(16).padStart(8, "0")}`;
    const [before, after] = [idOf("blob", "0\n"), idOf("blob", `${made}\n`)];
    const tree = idOf("tree", Buffer.concat([Buffer.from("100644 a.txt\0"), Buffer.from(after, "hex")]));
    const patch = `diff --git a/a.txt b/a.txt\nindex ${before}..${after} 100644\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-0\n+${made}\n`;
    const parts = { parent: base, tree, author: "Ann <ann@acme.test>", at: 1_700_000_000 + made, message: "Count\n" };
    const commit = writeCommit(parts, path.join(state, "scratch"));
    const files = ["M a.txt +1 -1"];
    return {
      ...parts,
      head,
      account: kind,
      text: "It counts.",
      patch: Buffer.from(patch).toString("base64"),
      arguments: { repository: "acme/app", base: "main", branch, commit, title: "Count", files, protected: [] },
    };
  }

  /** `node`: each has a disk of its own. */
  function publish(change: OfferedChange, node = "one"): ReturnType<typeof publishChange> {
    const { openGit, findPull, openPull } = DRIVERS[kind]({ token: FORGE_TOKEN, baseUrl: forge.url });
    const host = { openGit, findPull, openPull } as PublishOptions["host"];
    const [mirrors, tempDir] = [path.join(state, node, "mirrors"), path.join(state, node, "tmp")];
    return publishChange(change, { mirrors, tempDir, host, idempotencyKey: change.arguments.branch, signal });
  }

  test("once, also when another node does it again", async () => {
    const change = make();
    const { branch, commit } = change.arguments;
    const first = await publish(change);
    expect(first).toMatchObject({ branch, isOpen: true });
    expect(await publish(change, "two")).toEqual({ ...first, commit });
    expect(forge.branches()[branch]).toBe(commit);
    expect(forge.pushed.filter((ref) => ref === `refs/heads/${branch}`)).toHaveLength(1);
    expect(forge.pulls.filter(({ head }) => head === `acme/app:${branch}`)).toHaveLength(1);
  });

  test("a push whose pull request was not made yet gets it, also one to a fork", async () => {
    const fork = "acme-bot/app";
    const change = { ...make(), pushTo: fork };
    const before = forge.branches();
    forge.fail(/^POST .*\/(?:pulls|merge_requests)$/, 500);
    await expect(publish(change)).rejects.toMatchObject({ retryable: true });
    const { branch, commit } = change.arguments;
    expect(forge.branches(fork)).toEqual({ [branch]: commit });
    await publish(change);
    expect(forge.branches()).toEqual(before);
    expect(forge.pushed.filter((ref) => ref.endsWith(branch))).toHaveLength(1);
    const pull = { repository: "acme/app", head: `${fork}:${branch}`, base: "main", state: "open", isDraft: true };
    expect(forge.pulls.at(-1)).toMatchObject(pull);
  });

  test("after the end of its pull request: the next branch for a change of the base, none for one of the branch", async () => {
    const change = make();
    const { branch } = change.arguments;
    await publish(change);
    forge.pulls.at(-1)!.state = "closed";
    const other = make();
    other.arguments.branch = branch;
    expect(await publish(other)).toMatchObject({ branch: `${branch}-2` });
    expect(forge.branches()[`${branch}-2`]).toBe(other.arguments.commit);
    expect(forge.branches()[branch]).toBe(change.arguments.commit);
    const late = { ...make(), head: change.arguments.commit };
    late.arguments.branch = branch;
    await expect(publish(late)).rejects.toThrow("its pull request was closed meanwhile");
  });

  // The rest is the same for all.
  if (kind !== "github") return;

  test("what somebody has pushed to the branch stays", async () => {
    const change = make();
    const theirs = forge.commit({ "a.txt": "theirs\n" }, { branch: change.arguments.branch, from: "main" });
    await expect(publish(change)).rejects.toThrow("the branch has commits that this change does not know");
    const next = make({ head: base });
    next.arguments.branch = change.arguments.branch;
    await expect(publish(next)).rejects.toThrow("the branch has commits that this change does not know");
    expect(forge.branches()[change.arguments.branch]).toBe(theirs);
  });

  test.each<[string, (change: OfferedChange) => void, string]>([
    ["another branch", ({ arguments: args }) => void (args.branch = "main"), "the service pushes to agent/* only"],
    [
      "another patch",
      (change) => void (change.patch = Buffer.from("diff --git a/a b/a\nnonsense\n").toString("base64")),
      "does not make the commit",
    ],
    ["another author", (change) => void (change.author = "Eve <eve@acme.test>"), "does not make the commit"],
  ])("a record with %s is pushed nowhere", async (_, spoil, reason) => {
    const change = make();
    spoil(change);
    const before = [forge.branches(), forge.pulls.length];
    await expect(publish(change)).rejects.toThrow(reason);
    expect([forge.branches(), forge.pulls.length]).toEqual(before);
  });

  test("while its base is gone nothing is pushed, and then it is as before", async () => {
    const change = make();
    forge.git("branch", "-m", "main", "trunk");
    const before = [forge.branches(), forge.pulls.length];
    await expect(publish(change)).rejects.toMatchObject({
      message: expect.stringMatching(
        /^acme\/app has no branch main: .* Its default branch is trunk\. Restore it and retry/,
      ),
      retryable: false,
    });
    expect([forge.branches(), forge.pulls.length]).toEqual(before);
    forge.git("branch", "-m", "trunk", "main");
    expect(await publish(change)).toMatchObject({ branch: change.arguments.branch, isOpen: true });
  });

  test("refusals of the service are final, and say so", async () => {
    const change = make();
    forge.fail(/service=git-receive-pack/, 403);
    await expect(publish(change)).rejects.toMatchObject({
      message: "acme/app cannot be pushed to: the token may not do this.",
      retryable: false,
    });
    const hook = path.join(forge.git("rev-parse", "--absolute-git-dir"), "hooks/pre-receive");
    mkdirSync(path.dirname(hook), { recursive: true });
    writeFileSync(hook, "#!/bin/sh\nexit 1\n");
    chmodSync(hook, 0o755);
    await expect(publish(change)).rejects.toThrow("by a rule of its own");
    rmSync(hook);
    await publish(change);
  });
});
