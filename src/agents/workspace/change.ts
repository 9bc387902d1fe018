import { lstatSync, readFileSync, readlinkSync, copyFileSync, rmSync, type Stats } from "node:fs";
import path from "node:path";
import type { OfferedChange, TurnWorkspace } from "../../core/ports/agent.ts";
import { DriverError } from "../../core/errors.ts";
import { createFolder, orElse } from "../../core/shared/system/files.ts";
import { cutText, toOneLine } from "../../core/shared/text/text.ts";
import { createRedaction } from "../tools/redact.ts";
import { git, gitAll, GitFailed, type GitOptions } from "./git.ts";
import { writeCommit, writeObject } from "./objects.ts";
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
    const { changed, added, nested } = await listFiles(tree, signal);
    if (nested.length > 0)
      warnings.push(
        `Repositories within the tree are left out of the change: ${nested.slice(0, 5).map(toShown).join(", ")}.`,
      );
    const files = await readFiles([...changed, ...added], tree.folder, options.secrets);
    if (!workspace.canOffer || files.length === 0) return { warnings, isChanged: files.length > 0 };
    const change = await makeCommit(files, tree, options);
    return { change, warnings, isChanged: true };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof NotOffered)
      return { warnings: [...warnings, `The change is not offered: ${error.message}.`], isChanged: true };
    if (error instanceof GitFailed)
      throw new DriverError(`The change could not be read: ${error.message}`, { retryable: true });
    throw error;
  }
}

/** Nothing of a submodule counts. Files that are the same again, as after a build, are noted in the index. */
const STATUS = ["status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignore-submodules=all", "--no-renames"];

async function listFiles(
  { mirror, folder, own }: OpenedTree,
  signal: AbortSignal,
): Promise<{ changed: string[]; added: string[]; nested: string[] }> {
  const variables = { GIT_OPTIONAL_LOCKS: "1" };
  const listed = await git(STATUS, { repository: mirror.folder, tree: folder, own, variables, signal });
  const changed: string[] = [];
  const others: string[] = [];
  for (const entry of splitList(listed)) {
    // `? name`, or `1 XY` with six more fields and the name: Y is how the file differs from the index.
    const [start = "", isOther, sign] = /^(?:(\?) |1 .(.) (?:\S+ ){6})/.exec(entry.toString("latin1")) ?? [];
    const name = entry.subarray(start.length);
    if (isOther) others.push(toName(name));
    else if (sign !== ".") changed.push(toName(name));
  }
  return {
    changed,
    added: others.filter((name) => !name.endsWith("/")),
    nested: others.filter((name) => name.endsWith("/")),
  };
}

function splitList(list: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  for (let from = 0, to = list.indexOf(0); to !== -1; from = to + 1, to = list.indexOf(0, from)) {
    parts.push(list.subarray(from, to));
  }
  return parts;
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
  { mirror, folder, own, state }: OpenedTree,
  { workspace, reply, signal }: ChangeOptions,
): Promise<OfferedChange> {
  const changes = path.join(path.dirname(folder), "change");
  rmSync(changes, { recursive: true, force: true });
  const [objects, index] = [path.join(changes, "objects"), path.join(changes, "index")];
  for (const part of ["info", "pack"]) createFolder(path.join(objects, part), 0o700);
  copyFileSync(path.join(own, "index"), index);
  const at: GitOptions = { repository: mirror.folder, index, objects, signal };
  const parent = state.commit;
  const removed = files.filter(({ entry }) => !entry).map(({ name }) => `0 ${"0".repeat(parent.length)}\t${name}\0`);
  const kept = files.flatMap(({ name, entry }) =>
    entry ? [`${entry.mode} ${writeObject("blob", entry.content, { folder: objects, parent })}\t${name}\0`] : [],
  );
  const input = [...removed, ...kept].join("");
  const made = await gitAll([UPDATE, ["write-tree"], [...DIFF, parent]], { ...at, input }).catch((error: unknown) => {
    if (error instanceof GitFailed && /update-index: unable to update/.test(error.output))
      throw new NotOffered("git does not take one of its names");
    throw error;
  });
  const [tree, diff] = [made.toString("latin1", 0, parent.length), made.subarray(parent.length + 1)];
  const { patch, listed } = readDiff(diff);
  // Git leaves out names that are its own elsewhere.
  const left = files.find((file) => !listed.some(({ name }) => name === file.name));
  if (left) throw new NotOffered(`git does not take the name ${toShown(left.name)}`);
  if (patch.length > MAX_BYTES) throw new NotOffered("it has more than 1 MiB");
  const { branch, base, head } = state;
  if (branch === undefined) throw new NotOffered("the session has had too many pull requests");
  const title = toTitle(reply);
  const parts = {
    parent,
    tree,
    author: workspace.author ?? DEFAULT_AUTHOR,
    at: Math.floor(Date.now() / 1000),
    message: `${title}\n`,
  };
  const commit = writeCommit(parts, objects);
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
    ...parts,
    text: toText(reply, workspace),
    patch: patch.toString("base64"),
  };
}

const DEFAULT_AUTHOR = "Hookline <hookline@localhost>";

const UPDATE = ["update-index", "--add", "--remove", "--replace", "-z", "--index-info"];

/** The same for everybody who makes the patch again. */
const DIFF = [
  "diff-index",
  "--cached",
  "--no-renames",
  "--no-ext-diff",
  "--no-textconv",
  "--no-color",
  "--src-prefix=a/",
  "--dst-prefix=b/",
  "--diff-algorithm=myers",
  "--no-indent-heuristic",
  "--raw",
  "--numstat",
  "-z",
  "--patch",
  "--binary",
  "--full-index",
  "--unified=3",
];

interface ListedFile {
  name: string;
  /** `M src/a.ts +3 -1` */
  line: string;
}

/** The lists of statuses and of counts, an empty part, and the patch. */
function readDiff(output: Buffer): { listed: ListedFile[]; patch: Buffer } {
  let from = 0;
  const next = (): Buffer => {
    const part = output.subarray(from, output.indexOf(0, from));
    from += part.length + 1;
    return part;
  };
  const statuses: string[] = [];
  while (output[from] === COLON) {
    statuses.push(next().toString("latin1").slice(-1));
    next();
  }
  const listed = statuses.map((status): ListedFile => {
    const [added = "", removed = "", ...rest] = toName(next()).split("\t");
    const name = rest.join("\t");
    const size = added === "-" ? "binary" : `+${added} -${removed}`;
    return { name, line: `${status} ${name} ${size}` };
  });
  next();
  return { listed, patch: output.subarray(from) };
}

const COLON = 0x3a;

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
