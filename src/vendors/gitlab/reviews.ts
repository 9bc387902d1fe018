import { hash } from "node:crypto";
import { DriverError } from "../../core/errors.ts";
import { type DiffLine } from "../../core/shared/text/diff.ts";
import { toObjects, toText } from "../../core/shared/json.ts";
import type { ChangeDiff } from "../../core/ports/channel.ts";
import { type Call, isSuccess, requireId, toLine } from "../kit/http.ts";
import { findMarked, GONE, type RenderedReview, type ReviewService } from "../kit/comments/comment.ts";

interface Body {
  body: string;
}

/** Reviews of merge requests. `pathOf`: the path of the merge request that a recipient is. */
export function createGitlabReviews(pathOf: (to: string) => string | undefined): ReviewService<Body> {
  return {
    async readDiff(to, commit, call) {
      const path = pathOf(to);
      return path === undefined ? undefined : readDiff(path, commit, call);
    },
    // Servers before 19.2 ignore the state of the reviewer.
    introduce: (verdict) => (verdict === "request-changes" ? "**Changes requested**\n\n" : ""),
    async add(to, review, call) {
      const path = pathOf(to) ?? "";
      const messageId = await addReview(path, review, call);
      return { messageId, warnings: review.verdict === "approve" ? await approve(path, review.commit, call) : [] };
    },
  };
}

/** Each push makes a version of the merge request, with the three commits that a position needs. */
async function readDiff(path: string, commit: string, call: Call): Promise<ChangeDiff | undefined> {
  const { items = [], status } = await call("GET", `${path}/versions?per_page=100`, undefined, GONE);
  const version = GONE.includes(status) ? undefined : items.find(({ head_commit_sha: head }) => head === commit);
  if (!version) return undefined;
  const { body } = await call("GET", `${path}/versions/${requireId(version["id"], "GitLab")}`);
  return {
    base: requireId(version["base_commit_sha"], "GitLab"),
    start: requireId(version["start_commit_sha"], "GitLab"),
    files: toObjects(body["diffs"]).map((file) => ({
      path: toText(file["new_path"]),
      oldPath: toText(file["old_path"]),
      patch: toText(file["diff"]),
    })),
  };
}

/** Resolves to the id of the review's note. */
async function addReview(path: string, review: RenderedReview<Body>, call: Call): Promise<string> {
  const { verdict, body, comments, mark, mayBeSent } = review;
  const sent = mayBeSent ? await readNewest(path, call) : [];
  const done = findMarked(sent, mark);
  if (done) return toMessageId(done["id"]);
  const missing = comments.filter((comment) => !findMarked(sent, comment.mark));
  if (missing.length > 0 || verdict === "request-changes") {
    await writeDrafts(path, { ...review, comments: missing }, call);
    const state = verdict === "request-changes" ? "requested_changes" : "reviewed";
    await call("POST", `${path}/draft_notes/bulk_publish`, { note: body.body, reviewer_state: state });
    const published = findMarked(await readNewest(path, call), mark);
    if (published) return toMessageId(published["id"]);
  }
  // There is nothing to publish, or the server is older than 19.2 and publishes only the drafts.
  return toMessageId((await call("POST", `${path}/notes`, body)).body["id"]);
}

/** All drafts of the account are published together, so a person's drafts must not be among them. */
async function writeDrafts(path: string, { isOwn, ...review }: RenderedReview<Body>, call: Call): Promise<void> {
  const { items: drafts = [] } = await call("GET", `${path}/draft_notes?per_page=100`);
  const textOf = ({ note }: Record<string, unknown>): string => toText(note);
  const isOfReview = (draft: Record<string, unknown>): boolean =>
    review.comments.some(({ mark }) => textOf(draft).endsWith(mark));
  const others = drafts.filter((draft) => !isOfReview(draft));
  if (others.some((draft) => !isOwn(textOf(draft)))) {
    const message =
      "The account of channels.gitlab.token has draft comments on this merge request, which a review would publish. " +
      "Publish or delete them, and retry the delivery.";
    throw new DriverError(message, { retryable: false });
  }
  // They are of a review that was given up.
  for (const { id } of others) {
    await call("DELETE", `${path}/draft_notes/${requireId(id, "GitLab")}`, undefined, GONE);
  }
  for (const comment of review.comments) {
    if (findMarked(drafts, comment.mark, textOf)) continue;
    await call("POST", `${path}/draft_notes`, { note: comment.body.body, position: toPosition(comment, review) });
  }
}

type Comment = RenderedReview<Body>["comments"][number];

/** https://docs.gitlab.com/api/discussions/#create-a-new-thread-in-the-merge-request-diff */
function toPosition(
  { path, oldPath, line, first }: Comment,
  { base, start, commit }: Pick<RenderedReview<Body>, "base" | "start" | "commit">,
): object {
  return {
    position_type: "text",
    base_sha: base,
    start_sha: start,
    head_sha: commit,
    old_path: oldPath,
    new_path: path,
    ...toNumbers(line),
    ...(first && { line_range: { start: toEnd(path, first), end: toEnd(path, line) } }),
  };
}

/** An unchanged line has both numbers. */
function toNumbers({ kind, old, new: now }: DiffLine): { old_line?: number; new_line?: number } {
  return { ...(kind !== "added" && { old_line: old }), ...(kind !== "removed" && { new_line: now }) };
}

/** `new` is a line that the change adds; an unchanged one counts as old. */
function toEnd(path: string, line: DiffLine): object {
  const code = `${hash("sha1", path)}_${line.old}_${line.new}`;
  return { line_code: code, type: line.kind === "added" ? "new" : "old", ...toNumbers(line) };
}

/** With the commit, so that one that nobody has reviewed is not approved. A refusal may also say that it is approved already. */
async function approve(path: string, commit: string, call: Call): Promise<string[]> {
  const answer = await call("POST", `${path}/approve`, { sha: commit }, [401, 403, 404, 409, 422]);
  if (isSuccess(answer)) return [];
  const reason = toLine(answer.body["message"]);
  return [`GitLab did not take the approval: ${answer.status}${reason && ` ${reason}`}. The review is a comment.`];
}

/** The newest hundred notes, those on lines among them. */
export async function readNewest(path: string, call: Call): Promise<Record<string, unknown>[]> {
  return (await call("GET", `${path}/notes?sort=desc&order_by=created_at&per_page=100`)).items ?? [];
}

/** A note's id is unique on the server: its events have it at the end of their URL. */
export function toMessageId(id: unknown): string {
  return `note_${requireId(id, "GitLab")}`;
}
