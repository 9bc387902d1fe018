import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { DriverError } from "../../core/errors.ts";
import type { RepositoryHost } from "../../core/ports/repository.ts";
import { createLines } from "../../core/shared/lines.ts";
import { createFolder, orElse } from "../../core/shared/system/files.ts";
import { git, NO_ATTRIBUTES, protocolOf, toRemoteFailure } from "./git.ts";
import { watchRoom } from "./home.ts";
import { listRefs, type Refs } from "./refs.ts";

/** A repository at an account, as the service keeps it: every object that it has fetched, and nothing that anybody has checked out. */
export interface Mirror {
  /** The bare repository. */
  folder: string;
  /** In messages: `acme/app`. */
  repository: string;
  /** The refs at the service that begin with these texts. `from`: a fork. */
  listRefs(prefixes: readonly string[], from?: string): Promise<Refs>;
  /** Fetches a commit, unless it is here. */
  fetch(wanted: RemoteCommit): Promise<void>;
  /** Does work that writes objects into it. Meanwhile nothing is fetched. */
  alone<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Notes the commit that a ref has at the service, and that is here. */
  note(head: RemoteCommit): void;
}

/** A commit at the service. */
export interface RemoteCommit {
  commit: string;
  /** The full ref that it is the head of, if that is known. */
  ref?: string;
  /** A fork. */
  repository?: string;
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

/** Work on one mirror comes one after the other. */
const lines = createLines();

const FETCH = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc"];
const FETCH_MS = 600_000;
/** Sizes in bytes, and how often they are measured. */
const MIRROR_ROOM = { free: 1_000_000_000, used: 2 * 1024 ** 3, everyMs: 5000 };

/** Opens the mirror of a repository, and makes it if there is none. Calls reject with a `DriverError`. */
export async function openMirror(options: MirrorOptions): Promise<Mirror> {
  const { mirrors, account, repository, host, signal } = options;
  const name = createHash("sha256").update(`${account}\n${repository.toLowerCase()}`).digest("hex").slice(0, 32);
  const folder = path.join(mirrors, `${name}.git`);
  await alone(async () => {
    createFolder(mirrors, 0o700);
    if (!existsSync(path.join(folder, "complete"))) await makeMirror(folder, signal);
    else if (!opened.has(folder)) removeLocks(folder);
    opened.add(folder);
  });
  return {
    folder,
    repository,
    async listRefs(prefixes, from = repository) {
      const address = await host.openGit(from, signal);
      return listRefs(address, prefixes, signal).catch((error: unknown) => {
        throw toRemoteFailure(error, `${from} cannot be read`);
      });
    },
    async fetch(wanted) {
      const { commit, repository: from = repository } = wanted;
      const own = toOwnRef(wanted);
      await alone(async () => {
        const there = orElse("", () => readFileSync(path.join(folder, own), "utf8")).trim();
        if (there !== commit) await fetchInto(from, `+${commit}:${own}`);
      });
    },
    alone,
    note(head) {
      const file = path.join(folder, toOwnRef(head));
      createFolder(path.dirname(file), 0o700);
      writeFileSync(`${file}.lock`, `${head.commit}\n`);
      renameSync(`${file}.lock`, file);
    },
  };

  /** The file of a ref in the mirror: nothing packs them there. */
  function toOwnRef({ commit, ref = commit, repository: from = repository }: RemoteCommit): string {
    return `refs/mirror/${createHash("sha256").update(`${from}\n${ref}`).digest("hex").slice(0, 32)}`;
  }

  async function fetchInto(from: string, refspec: string): Promise<void> {
    const { url, authorization } = await host.openGit(from, signal);
    const ended = new AbortController();
    const stop = watchRoom(folder, (error) => ended.abort(error), MIRROR_ROOM, `The mirror of ${repository}`);
    const late = AbortSignal.timeout(FETCH_MS);
    try {
      await git([...FETCH, "--", url, refspec], {
        repository: folder,
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

  async function alone<Result>(work: () => Promise<Result>): Promise<Result> {
    const leave = await lines.enter(folder);
    try {
      return await work();
    } finally {
      leave();
    }
  }
}

/** Mirrors that this process has used: what an earlier one has left in them is removed. */
const opened = new Set<string>();

async function makeMirror(folder: string, signal: AbortSignal): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  createFolder(folder, 0o700);
  await git(["init", "--quiet", "--bare", "--template=", "--initial-branch=main", folder], {
    repository: folder,
    variables: { GIT_DEFAULT_REF_FORMAT: "files" },
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
