import { DriverError, messageOf } from "../../core/errors.ts";
import type { GitAddress } from "../../core/ports/repository.ts";
import { limitFetch } from "../../core/shared/net/limited-fetch.ts";
import { GitFailed } from "./git.ts";

/** The refs of a repository at its service. */
export interface Refs {
  /** Absent: the repository is empty. */
  defaultBranch?: string;
  /** Commits by full ref. */
  commits: ReadonlyMap<string, string>;
}

const send = limitFetch({ maxBytes: 32 * 1024 * 1024, timeoutMs: 60_000 });

/**
 * Asks for the refs that begin with one of these texts, and for the default branch. One request in version 2 of Git's protocol
 * (https://git-scm.com/docs/protocol-v2) needs no program. Rejects with `GitFailed`, or with the signal's reason.
 */
export async function listRefs(
  { url, authorization }: GitAddress,
  prefixes: readonly string[],
  signal: AbortSignal,
): Promise<Refs> {
  const asked = ["HEAD", ...prefixes].map((prefix) => toLine(`ref-prefix ${prefix}`));
  try {
    const response = await send(`${url}/git-upload-pack`, {
      method: "POST",
      headers: {
        authorization,
        accept: "application/x-git-upload-pack-result",
        "content-type": "application/x-git-upload-pack-request",
        "git-protocol": "version=2",
        // Some services answer programs of this name only.
        "user-agent": "git/hookline",
      },
      body: [toLine("command=ls-refs"), DELIMITER, toLine("peel"), toLine("symrefs"), ...asked, END].join(""),
      // A followed redirect would leak the credential.
      redirect: "manual",
      signal,
    });
    if (!response.ok) throw new GitFailed("ls-refs", toRefusal(response.status));
    return toRefs(readLines(Buffer.from(await response.arrayBuffer())));
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof GitFailed ? error : new GitFailed("ls-refs", messageOf(error));
  }
}

/** A whole id. */
export const COMMIT = /^(?:[\da-f]{40}|[\da-f]{64})$/;

const DELIMITER = "0001";
const END = "0000";

/** A line has its length before it. */
function toLine(text: string): string {
  return `${(Buffer.byteLength(text) + 5).toString(16).padStart(4, "0")}${text}\n`;
}

function readLines(answer: Buffer): string[] {
  const lines: string[] = [];
  for (let from = 0; ;) {
    const length = answer.toString("latin1", from, from + 4);
    if (length === END) return lines;
    const to = from + (/^[\da-f]{4}$/i.test(length) ? Number.parseInt(length, 16) : 0);
    if (to < from + 4 || to > answer.length) throw new GitFailed("ls-refs", "the answer is not one of Git");
    lines.push(answer.toString("utf8", from + 4, to).replace(/\n$/, ""));
    from = to;
  }
}

function toRefs(lines: readonly string[]): Refs {
  const refusal = lines.find((line) => line.startsWith("ERR "));
  if (refusal !== undefined) throw new GitFailed("ls-refs", refusal);
  const commits = new Map<string, string>();
  let defaultBranch: string | undefined;
  for (const line of lines) {
    const [id = "", ref = "", ...attributes] = line.split(" ");
    const [target, peeled] = ["symref-target:refs/heads/", "peeled:"].map((start) =>
      attributes.find((one) => one.startsWith(start))?.slice(start.length),
    );
    if (ref === "HEAD") defaultBranch = target;
    const name = ref === "HEAD" && target !== undefined ? toRef(target) : ref;
    if (COMMIT.test(peeled ?? id)) commits.set(name, peeled ?? id);
  }
  return { defaultBranch, commits };
}

/** A status in the words of the program. */
function toRefusal(status: number): string {
  return status >= 300 && status < 400 ? "redirect" : `error: ${status}`;
}

/** The full name of a ref that is written without it if it is a branch. */
export function toRef(name: string): string {
  return name.startsWith("refs/") ? name : `refs/heads/${name}`;
}

/** The error for a ref that is not there. */
export function toNoRef(repository: string, name: string, { defaultBranch }: Refs): DriverError {
  const shown = name.startsWith("refs/") ? name : `branch ${name}`;
  const other = defaultBranch === undefined ? "" : ` Its default branch is ${defaultBranch}.`;
  const next = "Restore it and retry the run, or name another one in workspace and replay the event.";
  const message = `${repository} has no ${shown}: it may have been deleted or renamed.${other} ${next}`;
  return new DriverError(message, { retryable: false });
}
