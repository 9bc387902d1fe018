import path from "node:path";
import type { OfferedChange } from "../../core/ports/agent.ts";
import { DriverError } from "../../core/errors.ts";
import type { Pull, RepositoryHost } from "../../core/ports/repository.ts";
import { createTemporaryFolder } from "../../core/shared/system/temporary-folder.ts";
import { createFolder } from "../../core/shared/system/files.ts";
import { rm } from "node:fs/promises";
import { git, gitAll, GitFailed, protocolOf, toRemoteFailure } from "./git.ts";
import { type Mirror, openMirror } from "./mirror.ts";
import { writeCommit } from "./objects.ts";
import { toNoRef, toRef } from "./refs.ts";

/** A change that is at the service now. */
export interface Published extends Pull {
  /** The branch that has it. */
  branch: string;
}

export interface PublishOptions {
  mirrors: string;
  tempDir: string;
  host: RepositoryHost;
  idempotencyKey: string;
  sign?(text: string): Uint8Array;
  signal: AbortSignal;
}

/** Nothing was published, and nothing will be: why, as the end of a sentence. */
export class NotPublished extends Error {}

/** Branches beside the one of a change whose pull request was closed. */
const MAX_NEXT = 20;

/**
 * Pushes a change to its branch, and makes its pull request. It can be repeated at any point, on every node: what is there already is
 * not done again. Rejects with `NotPublished`, or with a `DriverError`.
 */
export async function publishChange(change: OfferedChange, options: PublishOptions): Promise<Published> {
  const { mirrors, host, signal } = options;
  const { account, head, pushTo, arguments: args } = change;
  const { repository, base, branch: first, commit } = args;
  if (!/^agent\/[\da-f]{8}(?:-\d{1,3})?$/.test(first)) throw new NotPublished(`the service pushes to agent/* only`);
  const from = pushTo ?? repository;
  const mirror = await openMirror({ mirrors, account, repository, host, signal });
  const findPull = (branch: string): Promise<Pull | undefined> =>
    host.findPull(repository, { repository: from, branch }, signal);
  const own = toRef(first.replace(/-\d+$/, ""));
  const refs = await mirror.listRefs([toRef(base), ...(from === repository ? [own] : [])]);
  const { commits: heads } = from === repository ? refs : await mirror.listRefs([own], from);
  for (let n = 0, branch = first; n < MAX_NEXT; n++, branch = toNext(branch)) {
    const [pull, there] = [await findPull(branch), heads.get(toRef(branch))];
    // Somebody may have closed it since an earlier attempt.
    if (pull && (there === commit || pull.commit === commit)) return { ...pull, branch };
    if (pull && !pull.isOpen) {
      if (head !== undefined)
        throw new NotPublished("its pull request was closed meanwhile: the next turn begins from the base");
      continue;
    }
    const expected = branch === first ? head : undefined;
    if (there !== commit && there !== expected) {
      if (branch === first) throw new NotPublished("the branch has commits that this change does not know");
      continue;
    }
    // Without its base, a pull request cannot be made.
    if (!pull && !refs.commits.has(toRef(base))) throw toNoRef(repository, base, refs);
    if (there !== commit) await push(change, { branch, expected, mirror, options });
    const made = pull ?? (await openPull(branch));
    return { ...made, branch };
  }
  throw new NotPublished("too many of its branches have a pull request that was closed");

  async function openPull(branch: string): Promise<Pull> {
    const { idempotencyKey, sign } = options;
    const { title } = args;
    const wanted = { head: { repository: from, branch }, base, title, text: change.text, idempotencyKey, sign };
    try {
      return await host.openPull(repository, wanted, signal);
    } catch (error) {
      // An answer that was lost, or another attempt.
      const found = await findPull(branch).catch(() => undefined);
      if (found?.isOpen) return found;
      throw error;
    }
  }
}

function toNext(branch: string): string {
  const [, start = branch, n = "1"] = /^(.*?)(?:-(\d+))?$/.exec(branch) ?? [];
  return `${start}-${Number(n) + 1}`;
}

interface PushOptions {
  branch: string;
  /** The head that the branch must have; undefined: it must not be there. */
  expected: string | undefined;
  mirror: Mirror;
  options: PublishOptions;
}

async function push(change: OfferedChange, { branch, expected, mirror, options }: PushOptions): Promise<void> {
  const { tempDir, host, signal } = options;
  const { pushTo, arguments: args } = change;
  const to = pushTo ?? args.repository;
  createFolder(tempDir, 0o700);
  const folder = createTemporaryFolder(tempDir);
  try {
    await makeAgain(change, mirror, path.join(folder, "index"), signal);
    const { url, authorization } = await host.openGit(to, signal);
    const ref = `refs/heads/${branch}`;
    const lease = `--force-with-lease=${ref}:${expected ?? ""}`;
    await git(["push", "--quiet", "--no-verify", "--no-signed", lease, "--", url, `${args.commit}:${ref}`], {
      repository: mirror.folder,
      authorization,
      variables: protocolOf(url),
      signal,
    }).catch((error: unknown) => {
      signal.throwIfAborted();
      if (error instanceof GitFailed && /stale info|fetch first|non-fast-forward|already exists/i.test(error.output))
        throw new NotPublished("the branch has commits that this change does not know");
      if (error instanceof GitFailed && /pre-receive|protected branch|declined/i.test(error.output))
        throw new NotPublished(`${to} refuses the push to ${branch} by a rule of its own`);
      throw toRemoteFailure(error, `${to} cannot be pushed to`);
    });
    mirror.note({ commit: args.commit, ref, repository: to });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The commit from what was recorded: another node has no more than that. */
async function makeAgain(change: OfferedChange, mirror: Mirror, index: string, signal: AbortSignal): Promise<void> {
  const { parent, patch, tree: wanted, pushTo, head, arguments: args } = change;
  const at = { repository: mirror.folder, index, signal, input: Buffer.from(patch, "base64") };
  const make = (): Promise<Buffer> => mirror.alone(() => gitAll([["read-tree", parent], APPLY, ["write-tree"]], at));
  try {
    const made = await make().catch(async (error: unknown) => {
      if (!(error instanceof GitFailed) || !error.output.includes(parent)) throw error;
      // The parent is not here.
      await mirror.fetch({ commit: parent, repository: head === undefined ? undefined : pushTo });
      return make();
    });
    const tree = made.toString("utf8").trim();
    const objects = path.join(mirror.folder, "objects");
    if (tree === wanted && writeCommit(change, objects) === args.commit) return;
  } catch (error) {
    if (!(error instanceof GitFailed)) throw error;
  }
  throw new DriverError(`The recorded change does not make the commit ${args.commit}.`, { retryable: false });
}

const APPLY = ["apply", "--cached", "--binary", "--whitespace=nowarn"];
