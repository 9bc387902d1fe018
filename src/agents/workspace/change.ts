import { lstatSync, readFileSync, readlinkSync, copyFileSync, rmSync, type Stats, writeFileSync } from "node:fs";
import path from "node:path";
import type { OfferedChange, TurnWorkspace } from "../../core/ports/agent.ts";
import { DriverError } from "../../core/errors.ts";
import { createFolder, orElse } from "../../core/shared/system/files.ts";
import { cutText, toOneLine } from "../../core/shared/text/text.ts";
import { createRedaction } from "../tools/redact.ts";
import { git, GitFailed, gitLine, type GitOptions } from "./git.ts";
import { compilePaths, PROTECTED } from "./protected-files.ts";
import type { OpenedTree } from "./tree.ts";

/** The differences in a tree after a turn. */
export interface FoundChange {
  /** Absent: nothing has changed, or it is not offered. */
  change?: OfferedChange;
  /** Why it is not offered, and what is left out, in sentences. */
  warnings: string[];
  /** Files differ. */
  isChanged: boolean;
}

interface ChangeOptions {
  workspace: TurnWorkspace;
  /** The reply of the agent, whose first line is the title. */
  reply: string;
  /** Values that must not leave, by where they are configured. */
  secrets: ReadonlyMap<string, string>;
  signal: AbortSignal;
}

const MAX_FILES = 100;
const MAX_BYTES = 1024 * 1024;

/** Why a change is not offered. */
class NotOffered extends Error {}

/**
 * Makes a commit of what differs between a tree and the commit that it began from. The program that wrote the tree has ended. Git lists
 * the files by the index of the service, and the service reads each of them.
 */
export async function findChange(tree: OpenedTree, options: ChangeOptions): Promise<FoundChange> {
  const { workspace, signal } = options;
  const warnings: string[] = [];
  try {
    const work: GitOptions = { repository: tree.mirror.folder, tree: tree.folder, index: tree.index, signal };
    const { changed, added, nested } = await listFiles(work);
    if (nested.length > 0)
      warnings.push(
        `Repositories within the tree are left out of the change: ${nested.slice(0, 5).map(toShown).join(", ")}.`,
      );
    const files = await readFiles([...changed, ...added], tree.folder, options.secrets);
    if (!workspace.canOffer || files.length === 0) return { warnings, isChanged: files.length > 0 };
    const change = await makeCommit(files, tree, options);
    return { change, warnings, isChanged: change !== undefined };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof NotOffered)
      return { warnings: [...warnings, `The change is not offered: ${error.message}.`], isChanged: true };
    if (error instanceof GitFailed)
      throw new DriverError(`The change could not be read: ${error.message}`, { retryable: true });
    throw error;
  }
}

async function listFiles(work: GitOptions): Promise<{ changed: string[]; added: string[]; nested: string[] }> {
  await git(["update-index", "-q", "--really-refresh", "--ignore-submodules"], work).catch((error: unknown) => {
    // Exit code 1: something differs.
    if (!(error instanceof GitFailed)) throw error;
  });
  const differing = await git(["diff-files", "--ignore-submodules=all", "--raw", "-z", "--no-renames"], work);
  const others = await git(["ls-files", "--others", "--exclude-standard", "-z"], work);
  const changed = toNames(differing).filter((_, index) => index % 2 === 1);
  const found = toNames(others).filter((name) => name !== ".git" && !name.startsWith(".git/"));
  return {
    changed,
    added: found.filter((name) => !name.endsWith("/")),
    nested: found.filter((name) => name.endsWith("/")),
  };
}

function toNames(list: Buffer): string[] {
  const names: string[] = [];
  for (let from = 0, to = list.indexOf(0); to !== -1; from = to + 1, to = list.indexOf(0, from)) {
    names.push(toName(list.subarray(from, to)));
  }
  return names;
}

function toName(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new NotOffered(`the name ${toShown(bytes.toString("latin1"))} is not UTF-8`);
  }
}

interface ReadFile {
  name: string;
  /** Absent: it was removed. */
  entry?: { mode: string; content: Buffer };
}

async function readFiles(names: string[], folder: string, secrets: ReadonlyMap<string, string>): Promise<ReadFile[]> {
  // Another list would only be read to be refused.
  if (names.length > MAX_FILES) throw new NotOffered(`${names.length} files differ, and ${MAX_FILES} can`);
  const hidden = Array.from(secrets, ([key, value]) => ({ key, redact: createRedaction([value]).redact }));
  let bytes = 0;
  const files = names.map((name): ReadFile => {
    requireName(name);
    const entry = readEntry(name, folder);
    bytes += entry?.content.length ?? 0;
    if (bytes > MAX_BYTES) throw new NotOffered("it has more than 1 MiB");
    if (entry === undefined) return { name };
    const text = `${name}\n${entry.content.toString("utf8")}`;
    const found = hidden.find(({ redact }) => redact(text) !== text);
    if (found) throw new NotOffered(`${toShown(name)} holds the value of ${found.key}`);
    return { name, entry };
  });
  return files;
}

/** Characters that a person does not see, or that reorder what they see. */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}\p{Bidi_Control}\\]/u;

function requireName(name: string): void {
  if (HIDDEN.test(name)) throw new NotOffered(`the name ${toShown(name)} has characters that cannot be seen`);
  const isOfGit = name
    .split("/")
    .some((part) => /^(?:\.git|git~\d+|\.{1,2}|)$/i.test(part.normalize("NFKC").replace(/[ .]+$/, "")));
  if (isOfGit) throw new NotOffered(`${toShown(name)} is no name of a file in a repository`);
}

function readEntry(name: string, folder: string): ReadFile["entry"] {
  const file = path.join(folder, name);
  const parents = name
    .split("/")
    .slice(0, -1)
    .map((_, at, parts) => path.join(folder, ...parts.slice(0, at + 1)));
  // A link in place of a folder: what was below it is gone.
  if (!parents.every((parent) => statLink(parent)?.isDirectory())) return undefined;
  const stats = statLink(file);
  if (!stats || stats.isDirectory()) return undefined;
  if (stats.isSymbolicLink()) return { mode: "120000", content: Buffer.from(requireLink(name, readlinkSync(file))) };
  if (!stats.isFile()) throw new NotOffered(`${toShown(name)} is a device, a pipe or a socket`);
  if (stats.size > MAX_BYTES) throw new NotOffered("it has more than 1 MiB");
  return { mode: stats.mode & 0o100 ? "100755" : "100644", content: readFileSync(file) };
}

function statLink(file: string): Stats | undefined {
  return orElse(undefined, () => lstatSync(file));
}

function requireLink(name: string, target: string): string {
  const place = path.posix.normalize(path.posix.join(path.posix.dirname(name), target));
  const isOut =
    path.posix.isAbsolute(target) || place === ".." || place.startsWith("../") || /^\.git(?:\/|$)/i.test(place);
  if (isOut || HIDDEN.test(target)) throw new NotOffered(`the link ${toShown(name)} leads out of the repository`);
  return target;
}

async function makeCommit(
  files: ReadFile[],
  { mirror, folder, index, state }: OpenedTree,
  { workspace, reply, signal }: ChangeOptions,
): Promise<OfferedChange | undefined> {
  const own = path.join(path.dirname(folder), "change");
  rmSync(own, { recursive: true, force: true });
  const objects = path.join(own, "objects");
  for (const part of ["objects/info", "objects/pack", "files"]) createFolder(path.join(own, part), 0o700);
  const changed = path.join(own, "index");
  copyFileSync(index, changed);
  const at: GitOptions = { repository: mirror.folder, index: changed, objects, signal };
  const kept = files.filter(({ entry }) => entry);
  const blobs = await writeBlobs(kept, path.join(own, "files"), at);
  const lines = [
    ...files.filter(({ entry }) => !entry).map(({ name }) => `0 ${"0".repeat(state.commit.length)}\t${name}\0`),
    ...kept.map(({ name, entry }, number) => `${entry?.mode} ${blobs[number]}\t${name}\0`),
  ];
  const update = ["update-index", "--add", "--remove", "--replace", "-z", "--index-info"];
  await git(update, { ...at, input: lines.join("") }).catch((error: unknown) => {
    if (error instanceof GitFailed) throw new NotOffered("git does not take one of its names");
    throw error;
  });
  const tree = await gitLine(["write-tree"], at);
  const parent = state.commit;
  if (tree === (await gitLine(["rev-parse", `${parent}^{tree}`], at))) return undefined;
  const { branch, base, head } = state;
  if (branch === undefined) throw new NotOffered("the session has had too many pull requests");
  const title = toTitle(reply);
  const made = {
    parent,
    tree,
    author: workspace.author ?? DEFAULT_AUTHOR,
    at: Math.floor(Date.now() / 1000),
    message: `${title}\n`,
  };
  const commit = await commitTree(made, at);
  const patch = await git([...DIFF, "--binary", "--full-index", "--patch", "--unified=3", parent, commit], at);
  if (patch.length > MAX_BYTES) throw new NotOffered("it has more than 1 MiB");
  const listed = await listChanges(parent, commit, at);
  const isProtected = compilePaths(workspace.protect ?? PROTECTED);
  const isAllowed = workspace.paths ? compilePaths(workspace.paths) : () => true;
  const needsPerson = listed.map(({ name }) => name).filter((name) => isProtected(name) || !isAllowed(name));
  const ordered = listed.toSorted(
    (a, b) => Number(needsPerson.includes(b.name)) - Number(needsPerson.includes(a.name)),
  );
  return {
    arguments: {
      repository: workspace.repository,
      base,
      branch,
      commit,
      title,
      files: ordered.map(({ line }) => line),
      protected: needsPerson,
    },
    account: workspace.account,
    pushTo: workspace.pushTo,
    head,
    ...made,
    text: toText(reply, workspace),
    patch: patch.toString("base64"),
  };
}

const DEFAULT_AUTHOR = "Hookline <hookline@localhost>";

/** The same for everybody who makes the patch again. */
const DIFF = [
  "diff-tree",
  "-r",
  "--no-renames",
  "--no-ext-diff",
  "--no-textconv",
  "--no-color",
  "--src-prefix=a/",
  "--dst-prefix=b/",
  "--diff-algorithm=myers",
  "--no-indent-heuristic",
];

export interface CommitParts extends Pick<OfferedChange, "parent" | "tree" | "author" | "at" | "message"> {}

/** The same parts make the same commit, on every node. */
export function commitTree({ parent, tree, author, at, message }: CommitParts, options: GitOptions): Promise<string> {
  const [, name = "", mail = ""] = /^(.*?)\s*<([^<>]*)>$/s.exec(author) ?? [];
  const who = { NAME: toOneLine(name), EMAIL: toOneLine(mail), DATE: `${at} +0000` };
  const variables = Object.fromEntries(
    Object.entries(who).flatMap(([key, value]) => ["AUTHOR", "COMMITTER"].map((role) => [`GIT_${role}_${key}`, value])),
  );
  return gitLine(["commit-tree", "--no-gpg-sign", "-p", parent, tree], { ...options, variables, input: message });
}

async function writeBlobs(files: ReadFile[], folder: string, at: GitOptions): Promise<string[]> {
  if (files.length === 0) return [];
  // Under names of the service.
  const copies = files.map(({ entry }, number) => {
    const file = path.join(folder, String(number));
    writeFileSync(file, entry?.content ?? "");
    return file;
  });
  const ids = await git(["hash-object", "-w", "--no-filters", "--stdin-paths"], { ...at, input: copies.join("\n") });
  return ids.toString("utf8").trim().split("\n");
}

interface ListedFile {
  name: string;
  /** `M src/a.ts +3 -1` */
  line: string;
}

async function listChanges(parent: string, commit: string, at: GitOptions): Promise<ListedFile[]> {
  const statuses = toNames(await git([...DIFF, "--name-status", "-z", parent, commit], at));
  const counts = toNames(await git([...DIFF, "--numstat", "-z", parent, commit], at));
  return counts.map((row, index) => {
    const [added = "", removed = "", ...rest] = row.split("\t");
    const name = rest.join("\t");
    const size = added === "-" ? "binary" : `+${added} -${removed}`;
    return { name, line: `${statuses[2 * index] ?? "M"} ${name} ${size}` };
  });
}

const MAX_TEXT = 10_000;

/** The reply below its title, and what it is about. */
function toText(reply: string, { url }: TurnWorkspace): string {
  const [, ...rest] = reply.trim().split("\n");
  return [cutText(rest.join("\n").trim(), MAX_TEXT), url].filter(Boolean).join("\n\n");
}

const MAX_TITLE = 80;

/** The first line that has words. */
function toTitle(reply: string): string {
  const [line = ""] = reply
    .split("\n")
    .map((one) => toOneLine(one.replace(/^[\s#>*_`-]+/, "").replace(/[*_`]+$/, "")))
    .filter(Boolean);
  const shown = line.replaceAll(/[\p{C}\p{Bidi_Control}]/gu, "").trim();
  return cutText(shown, MAX_TITLE).trim() || "Change by an agent";
}

function toShown(name: string): string {
  return JSON.stringify(cutText(name, 100)).replaceAll(
    /[^\x20-\x7e]/g,
    (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`,
  );
}
