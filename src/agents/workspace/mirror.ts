import { createHash } from "node:crypto";
import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { DriverError } from "../../core/errors.ts";
import type { RepositoryHost } from "../../core/ports/repository.ts";
import { createLines } from "../../core/shared/lines.ts";
import { createFolder } from "../../core/shared/system/files.ts";
import { git, gitLine, NO_ATTRIBUTES, protocolOf, toRemoteFailure } from "./git.ts";
import { watchRoom } from "./home.ts";

/** A repository at an account, as the service keeps it: every object that it has fetched, and nothing that anybody has checked out. */
export interface Mirror {
  /** The bare repository. */
  folder: string;
  /** In messages: `acme/app`. */
  repository: string;
  /** Fetches a branch, a full ref or a commit. Resolves to the commit's id. `from`: a fork. */
  fetch(wanted: string, from?: string): Promise<string>;
  /** Fetches branches in one request. Gives their heads by name. A name that ends with `*` is that of each branch which begins so. */
  fetchBranches(names: readonly string[], from?: string): Promise<Map<string, string>>;
  /** The name of the default branch. */
  findDefaultBranch(): Promise<string>;
  has(commit: string): Promise<boolean>;
}

export interface MirrorOptions {
  /** The folder of all mirrors. */
  mirrors: string;
  account: string;
  repository: string;
  host: RepositoryHost;
  signal: AbortSignal;
}

/** The folder of all mirrors, in the state folder of the service. */
export function toMirrors(state: string): string {
  return path.join(state, "mirrors");
}

/** Fetches into one mirror come one after the other. */
const lines = createLines();

const FETCH = ["fetch", "--quiet", "--no-tags", "--prune", "--no-write-fetch-head", "--no-auto-gc"];
const FETCH_MS = 600_000;
/** Sizes in bytes, and how often they are measured. */
const MIRROR_ROOM = { free: 1_000_000_000, used: 2 * 1024 ** 3, everyMs: 5000 };

const COMMIT = /^(?:[\da-f]{40}|[\da-f]{64})$/;

/** Opens the mirror of a repository, and makes it if there is none. Calls reject with a `DriverError`. */
export async function openMirror(options: MirrorOptions): Promise<Mirror> {
  const { mirrors, account, repository, host, signal } = options;
  const name = createHash("sha256").update(`${account}\n${repository.toLowerCase()}`).digest("hex").slice(0, 32);
  const folder = path.join(mirrors, `${name}.git`);
  const local = { repository: folder, signal };
  await inLine(async () => {
    createFolder(mirrors, 0o700);
    if (!existsSync(path.join(folder, "complete"))) await makeMirror(folder, signal);
    else if (!opened.has(folder)) removeLocks(folder);
    opened.add(folder);
  });
  return {
    folder,
    repository,
    async fetch(wanted, from = repository) {
      const isCommit = COMMIT.test(wanted);
      if (isCommit && (await has(wanted))) return wanted;
      const ref = isCommit || wanted.startsWith("refs/") ? wanted : `refs/heads/${wanted}`;
      const to = toOwnRef(from, ref);
      await inLine(() => fetchInto(from, [`+${ref}:${to}`]));
      return gitLine(["rev-parse", "--verify", "--end-of-options", `${to}^{commit}`], local);
    },
    async fetchBranches(names, from = repository) {
      const folders = names.map((branch) => `${toOwnRef(from, `heads/${branch}`)}/`);
      const refspecs = names.map((branch, at) => `+refs/heads/${branch}:${folders[at]}${branch}`);
      const listed = await inLine(async () => {
        await fetchInto(from, refspecs);
        return gitLine(["for-each-ref", "--format=%(refname:lstrip=3) %(objectname)", ...folders], local);
      });
      return new Map(Array.from(listed.matchAll(/^(\S+) (\S+)$/gm), ([, branch = "", head = ""]) => [branch, head]));
    },
    async findDefaultBranch() {
      const { url, authorization } = await host.openGit(repository, signal);
      const listed = await git(["ls-remote", "--quiet", "--symref", "--", url, "HEAD"], {
        ...local,
        authorization,
        variables: protocolOf(url),
      }).catch((error: unknown) => {
        throw toRemoteFailure(error, `${repository} cannot be read`);
      });
      const [, branch] = /^ref: refs\/heads\/(\S+)\tHEAD$/m.exec(listed.toString("utf8")) ?? [];
      if (branch !== undefined) return branch;
      throw new DriverError(`${repository} has no default branch: it may be empty.`, { retryable: false });
    },
    has,
  };

  async function has(commit: string): Promise<boolean> {
    return git(["cat-file", "-e", `${commit}^{commit}`], local).then(
      () => true,
      () => signal.throwIfAborted() ?? false,
    );
  }

  async function fetchInto(from: string, refspecs: string[]): Promise<void> {
    const { url, authorization } = await host.openGit(from, signal);
    const ended = new AbortController();
    const stop = watchRoom(folder, (error) => ended.abort(error), MIRROR_ROOM, `The mirror of ${repository}`);
    const late = AbortSignal.timeout(FETCH_MS);
    try {
      // A branch that is gone is none: `--prune` removes its copy here.
      await git([...FETCH, "--", url, ...refspecs], {
        ...local,
        authorization,
        variables: protocolOf(url),
        signal: AbortSignal.any([signal, ended.signal, late]),
      });
    } catch (error) {
      removeLocks(folder);
      if (ended.signal.aborted) {
        // The next fetch begins anew.
        rmSync(folder, { recursive: true, force: true });
        throw ended.signal.reason;
      }
      signal.throwIfAborted();
      if (late.aborted) throw new DriverError(`${repository} was not fetched in 10 minutes.`, { retryable: true });
      throw toRemoteFailure(error, `${from} cannot be fetched`);
    } finally {
      stop();
    }
  }

  async function inLine<Result>(work: () => Promise<Result>): Promise<Result> {
    const leave = await lines.enter(folder);
    try {
      return await work();
    } finally {
      leave();
    }
  }
}

/** Where a ref of a repository is kept in the mirror. */
function toOwnRef(from: string, ref: string): string {
  return `refs/mirror/${createHash("sha256").update(`${from}\n${ref}`).digest("hex").slice(0, 32)}`;
}

/** Mirrors that this process has used: what an earlier one has left in them is removed. */
const opened = new Set<string>();

async function makeMirror(folder: string, signal: AbortSignal): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  createFolder(folder, 0o700);
  await git(["init", "--quiet", "--bare", "--template=", "--initial-branch=main", folder], {
    repository: folder,
    signal,
  });
  createFolder(path.join(folder, "info"), 0o700);
  writeFileSync(path.join(folder, "info/attributes"), NO_ATTRIBUTES);
  writeFileSync(path.join(folder, "complete"), "");
}

/** A command that was killed leaves its locks and half packs, which nobody completes. */
function removeLocks(folder: string): void {
  const left = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    /(?:\.lock|\/tmp_[^/]*|\/incoming-[^/]*)$/.test(name),
  );
  for (const name of left) rmSync(path.join(folder, name), { recursive: true, force: true });
}
