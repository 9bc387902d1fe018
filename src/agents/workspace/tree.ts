import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { DriverError } from "../../core/errors.ts";
import type { TurnWorkspace } from "../../core/ports/agent.ts";
import type { RepositoryHost } from "../../core/ports/repository.ts";
import { createFolder } from "../../core/shared/system/files.ts";
import { RUN_IN_BOX } from "./box.ts";
import { git, gitAll, GitFailed, type GitOptions } from "./git.ts";
import { type Home, removeTree, type Start, type TreeState } from "./home.ts";
import { type Mirror, openMirror, type RemoteCommit } from "./mirror.ts";
import { isForAgents } from "./protected-files.ts";
import { COMMIT, toNoRef, toRef } from "./refs.ts";

export interface OpenedTree {
  state: TreeState;
  mirror: Mirror;
  folder: string;
  /** The folder with the service's own head and index of the files. */
  own: string;
  /** The files were written for this turn. */
  isNew: boolean;
  /** The service's words about it, for the agent. */
  words: string[];
}

/** In the box: the objects of the mirror, read-only. */
export const OBJECTS_IN_BOX = `${RUN_IN_BOX}/objects`;

export interface TreeOptions {
  home: Home;
  workspace: TurnWorkspace;
  sessionKey: string;
  /** The folder of all mirrors. */
  mirrors: string;
  host: RepositoryHost;
  signal: AbortSignal;
}

/**
 * Opens the tree of a session: as the last turn left it, or anew if its branch has moved. Resolves to undefined if the event is about
 * another commit than the head of the branch. Rejects with a `DriverError`.
 */
export async function openTree(options: TreeOptions): Promise<OpenedTree | undefined> {
  const { home, workspace, mirrors, host, signal } = options;
  const { account, repository, about } = workspace;
  const mirror = await openMirror({ mirrors, account, repository, host, signal });
  const known = home.state.tree;
  const { start, head, findBase } = await findStart(options, mirror);
  if (about !== undefined && start.head !== about) return undefined;
  const folder = path.join(home.folder, "work");
  const own = path.join(home.folder, "own");
  const at: GitOptions = { repository: mirror.folder, tree: folder, own, signal };
  const isSame = known?.account === account && known.repository === repository && existsSync(path.join(folder, ".git"));
  const hasMoved = isSame && !isStill(known, start);
  // Without a branch the work of earlier turns is worth more than the newest base.
  const isKept =
    isSame && (!hasMoved || (known.isChanged === true && start.head === undefined && known.head === undefined));
  const isPushed = isKept && known.commit !== start.commit && known.offered === start.commit;
  const commit = isKept && !isPushed ? known.commit : start.commit;
  await mirror.fetch(commit === start.commit ? head : { commit });
  const ofBase = workspace.isForeign ? findBase() : undefined;
  if (ofBase) await mirror.fetch(ofBase);
  home.begin();
  if (isPushed) {
    writeHead(own, commit);
    // Files that are the same in both are not read again.
    await git(["read-tree", "-i", "-m", commit], at);
  } else if (!isKept) {
    await removeTree(folder);
    rmSync(own, { recursive: true, force: true });
    for (const one of [folder, own]) createFolder(one, 0o700);
    writeHead(own, commit);
    await writeFiles(commit, ofBase?.commit, at).catch((error: unknown) => {
      throw error instanceof GitFailed ? toUnwritten(error, `${repository} at ${commit.slice(0, 12)}`) : error;
    });
  }
  if (isPushed || !isKept) await writeAgentsGit({ folder, own, commit, branch: start.branch ?? start.base });
  const isDropped = isSame && !isKept && known.isChanged === true;
  return {
    state: { ...start, commit, account, repository, ...(isKept && !isPushed && { isChanged: known.isChanged }) },
    mirror,
    folder,
    own,
    isNew: !isKept,
    words: toWords(start, { workspace, isMoved: isSame && !isKept && known.head !== undefined, isDropped }),
  };
}

function writeHead(own: string, commit: string): void {
  writeFileSync(path.join(own, "HEAD"), `${commit}\n`);
}

/** `base`: the commit that files for agents are from. */
async function writeFiles(commit: string, base: string | undefined, at: GitOptions): Promise<void> {
  const [read, write] = [
    ["read-tree", commit],
    ["checkout-index", "--all", "--force", "--index"],
  ];
  if (base === undefined) return void (await gitAll([read, write], at));
  await git(read, at);
  await useAgentsFilesOf(base, at);
  await git(write, at);
}

/** Git refuses names that lead out of the tree, or into its own folder. */
function toUnwritten(error: GitFailed, where: string): DriverError {
  const retryable = !/invalid path/i.test(error.output);
  return new DriverError(`The files of ${where} cannot be written: ${error.message}`, { retryable });
}

/** The head of the branch is where the last turn began, or what it has offered. */
function isStill(known: TreeState, start: Start): boolean {
  return known.branch === start.branch && (known.commit === start.commit || known.offered === start.commit);
}

/** More pull requests of one session than anybody makes. */
const MAX_BRANCHES = 50;

interface FoundStart {
  start: Start;
  /** Its commit at the service. */
  head: RemoteCommit;
  findBase(): RemoteCommit;
}

/** Where a turn begins, by the refs at the service. Nothing is fetched. */
async function findStart({ workspace, sessionKey, host, signal }: TreeOptions, mirror: Mirror): Promise<FoundStart> {
  const { repository, base: named, commit: wanted, pushTo = repository, canOffer } = workspace;
  const own = toBranch(sessionKey);
  const isFork = pushTo !== repository;
  const asked = [named, wanted, canOffer && !isFork ? own : undefined].filter((name) => name !== undefined);
  const refs = await mirror.listRefs(asked.map(toRef));
  const base = named ?? refs.defaultBranch;
  if (base === undefined)
    throw new DriverError(`${repository} has no default branch: it may be empty.`, { retryable: false });
  const find = (name: string): RemoteCommit => {
    if (COMMIT.test(name)) return { commit: name };
    const commit = refs.commits.get(toRef(name));
    if (commit === undefined) throw toNoRef(repository, name, refs);
    return { commit, ref: toRef(name) };
  };
  const findBase = (): RemoteCommit => find(base);
  const atBase = (branch?: string): FoundStart => {
    const head = find(wanted ?? base);
    return { start: { commit: head.commit, base, branch }, head, findBase };
  };
  if (!canOffer) return atBase();
  const heads = isFork ? await mirror.listRefs([toRef(own)], pushTo) : refs;
  const branches = Array.from({ length: MAX_BRANCHES }, (_, at) => (at === 0 ? own : `${own}-${at + 1}`));
  for (const branch of branches) {
    const pull = await host.findPull(repository, { repository: pushTo, branch }, signal);
    if (pull && !pull.isOpen) continue;
    const commit = heads.commits.get(toRef(branch));
    // A branch outlives its base.
    if (commit === undefined) return atBase(branch);
    const head = { commit, ref: toRef(branch), repository: pushTo };
    return { start: { commit, base, branch, head: commit }, head, findBase };
  }
  return atBase();
}

/** `agent/` and 8 digits of the session key's hash. */
function toBranch(sessionKey: string): string {
  return `agent/${createHash("sha256").update(sessionKey).digest("hex").slice(0, 8)}`;
}

/** At a pull request of somebody else, its text is to be read and not to be followed. */
async function useAgentsFilesOf(base: string, at: GitOptions): Promise<void> {
  const listed = (await git(["ls-files", "-z"], at)).toString("latin1").split("\0");
  const removed = listed
    .filter((file) => file !== "" && isForAgents(file))
    .map((file) => `0 ${"0".repeat(base.length)}\t${file}\0`);
  const entries = (await git(["ls-tree", "-r", "-z", "--full-tree", base], at)).toString("latin1").split("\0");
  const added = entries.flatMap((entry) => {
    const [, mode, id, file = ""] = /^(\d+) \w+ ([\da-f]+)\t([^]*)$/.exec(entry) ?? [];
    return mode !== undefined && isForAgents(file) ? [`${mode} ${id}\t${file}\0`] : [];
  });
  if (removed.length + added.length === 0) return;
  const input = Buffer.from([...removed, ...added].join(""), "latin1");
  await git(["update-index", "--add", "--remove", "--replace", "-z", "--index-info"], { ...at, input });
}

/** The agent's own repository: it has no remote, and the service never runs git with it. */
async function writeAgentsGit({
  folder,
  own,
  commit,
  branch,
}: {
  folder: string;
  own: string;
  commit: string;
  branch: string;
}): Promise<void> {
  const agents = path.join(folder, ".git");
  await removeTree(agents);
  const ref = path.join(agents, "refs/heads", branch);
  for (const part of ["objects/info", "objects/pack", "refs/tags", "info"])
    mkdirSync(path.join(agents, part), { recursive: true });
  mkdirSync(path.dirname(ref), { recursive: true });
  const format =
    commit.length === 64
      ? "\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha256\n[core]\n"
      : "\trepositoryformatversion = 0\n";
  writeFileSync(
    path.join(agents, "config"),
    `[core]\n${format}\tbare = false\n[user]\n\tname = Agent\n\temail = agent@localhost\n`,
  );
  writeFileSync(path.join(agents, "objects/info/alternates"), `${OBJECTS_IN_BOX}\n`);
  writeFileSync(path.join(agents, "HEAD"), `ref: refs/heads/${branch}\n`);
  writeFileSync(ref, `${commit}\n`);
  copyFileSync(path.join(own, "index"), path.join(agents, "index"));
}

function toWords(
  { commit, base, branch, head }: Start,
  { workspace, isMoved, isDropped }: { workspace: TurnWorkspace; isMoved: boolean; isDropped: boolean },
): string[] {
  const { repository, isForeign, canOffer } = workspace;
  const at = head === undefined ? `${base} at ${commit.slice(0, 12)}` : `${branch} at ${commit.slice(0, 12)}`;
  const work = isForeign
    ? "This is the pull request of somebody else: read, build and test as you like. What you change here is not kept."
    : canOffer
      ? "Edit the files here. Do not commit and do not push: when you are done, the service makes a commit and a pull request of what has changed. The first line of your answer becomes their title."
      : "Read, build and test as you like. Nothing of what you change here leaves it.";
  return [
    `You work in the repository ${repository} (${at}), in the current folder. ${work}`,
    ...(isMoved
      ? [`The branch ${branch ?? base} has new commits since your last turn: the files are those of its newest one.`]
      : []),
    ...(isDropped ? ["What you had changed before and was not pushed is gone."] : []),
  ];
}
