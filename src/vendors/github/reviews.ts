import { toObject, toObjects } from "../../core/shared/json.ts";
import type { ReviewVerdict, ChangeDiff } from "../../core/ports/channel.ts";
import { type Call, type HttpAnswer, PAGE_ADDRESS, requireId, toRefusal, toUnreadable } from "../kit/http.ts";
import { toReason } from "./client.ts";
import { findMarked, GONE, type RenderedReview, type ReviewService } from "../kit/comments/comment.ts";

const EVENTS = { comment: "COMMENT", "request-changes": "REQUEST_CHANGES", approve: "APPROVE" } as const;

interface Body {
  body: string;
}

/** Reviews of pull requests. `pullOf`: the path of the pull request that a recipient is. */
export function createGithubReviews(pullOf: (to: string) => string | undefined): ReviewService<Body> {
  return {
    async readDiff(to, commit, call) {
      const pull = pullOf(to);
      return pull === undefined ? undefined : readDiff(pull, commit, call);
    },
    async add(to, review, call) {
      const reviews = `${pullOf(to)}/reviews`;
      const found = review.mayBeSent ? await findNewest(reviews, { mark: review.mark }, call) : undefined;
      return found === undefined ? addReview(reviews, review, call) : { messageId: found, warnings: [] };
    },
  };
}

async function readDiff(pull: string, commit: string, call: Call): Promise<ChangeDiff | undefined> {
  const { status, body } = await call("GET", pull, undefined, GONE);
  // The number of an issue is no pull request.
  if (GONE.includes(status)) return undefined;
  if (toObject(body["head"])["sha"] === commit) return { files: await readFiles(pull, call) };
  // There are newer commits by now. Only the comparison shows the diff of an earlier one, and not every token may read it.
  const base = requireId(toObject(body["base"])["sha"], "GitHub");
  const repository = pull.replace(/\/pulls\/\d+$/, "");
  const compared = await call("GET", `${repository}/compare/${base}...${commit}`, undefined, [403, ...GONE]);
  if (compared.status !== 200) return undefined;
  const { files } = compared.body;
  if (!Array.isArray(files)) throw toUnreadable("GitHub");
  return { files: toFiles(toObjects(files)) };
}

const PAGE = 100;
/** GitHub lists 3000 files at most. */
const MAX_PAGES = 30;

async function readFiles(pull: string, call: Call): Promise<ChangeDiff["files"]> {
  const files: ChangeDiff["files"] = [];
  for (let page = 1; page <= MAX_PAGES; page += 1) {
    const { items = [] } = await call("GET", `${pull}/files?per_page=${PAGE}&page=${page}`);
    files.push(...toFiles(items));
    if (items.length < PAGE) break;
  }
  return files;
}

/** Binary and very large files have no patch. */
function toFiles(items: Record<string, unknown>[]): ChangeDiff["files"] {
  return items.flatMap(({ filename, previous_filename: previous, patch }) =>
    typeof filename === "string" && typeof patch === "string"
      ? [{ path: filename, oldPath: typeof previous === "string" ? previous : undefined, patch }]
      : [],
  );
}

async function addReview(
  path: string,
  { verdict, commit, body, comments }: RenderedReview<Body>,
  call: Call,
): Promise<{ messageId: string; warnings: string[] }> {
  const send = (as: ReviewVerdict): Promise<HttpAnswer> => {
    const review = { ...body, commit_id: commit, event: EVENTS[as], comments: comments.map(toComment) };
    return call("POST", path, review, [422]);
  };
  let answer = await send(verdict);
  const warnings: string[] = [];
  if (answer.status === 422 && verdict !== "comment") {
    const reason = toReason(answer);
    answer = await send("comment");
    warnings.push(
      `GitHub refused the verdict "${verdict}"${reason && `: ${reason}`}. The review was sent as a comment.`,
    );
  }
  if (answer.status === 422) throw toRefusal("GitHub", answer, { reason: toReason(answer) });
  return { messageId: requireId(answer.body["html_url"], "GitHub", PAGE_ADDRESS), warnings };
}

/** https://docs.github.com/en/rest/pulls/reviews#create-a-review-for-a-pull-request */
function toComment({ path, side, line, first, body }: RenderedReview<Body>["comments"][number]): object {
  const where = side === "old" ? "LEFT" : "RIGHT";
  const start = first && { start_line: first[side], start_side: where };
  return { path, line: line[side], side: where, ...start, ...body };
}

/**
 * Finds the text with the mark among the newest hundred or two. Comments of an issue, and reviews, come oldest first, so that
 * the last page is asked for. `hasOrder`: the list can be asked for in the other order.
 */
export async function findNewest(
  path: string,
  { mark, hasOrder = false }: { mark: string; hasOrder?: boolean },
  call: Call,
): Promise<string | undefined> {
  const order = hasOrder ? "sort=created&direction=desc&" : "";
  const first = await call("GET", `${path}?${order}per_page=${PAGE}`);
  const last = /[?&]page=(\d+)[^>]*>;\s*rel="last"/.exec(first.headers.get("link") ?? "")?.[1];
  const inFirst = findMarked(first.items, mark);
  if (inFirst || hasOrder || last === undefined)
    return inFirst && requireId(inFirst["html_url"], "GitHub", PAGE_ADDRESS);
  const { items } = await call("GET", `${path}?per_page=${PAGE}&page=${last}`);
  const found = findMarked(items, mark);
  return found && requireId(found["html_url"], "GitHub", PAGE_ADDRESS);
}
