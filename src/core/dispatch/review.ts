import { parseReview, type ReviewBlock, type ReviewComment } from "../actions/reply.ts";
import type { ChangeDiff, ChannelDriver, LineComment, Review, ReviewVerdict } from "../ports/channel.ts";
import { type DiffLine, parseHunks } from "../shared/text/diff.ts";
import { type AgentAction, REVIEW_VERDICTS } from "../types.ts";

/** Where a reply goes that may be a review. */
interface ReviewTarget {
  action: AgentAction | undefined;
  driver: Pick<ChannelDriver, "limit" | "readDiff">;
  to: string;
  /** The commit that the event names. Absent: the reply does not go to the place of the event, or it names none. */
  commit: string | undefined;
}

interface PreparedReply {
  text: string;
  review?: Review;
  warnings: string[];
}

/** The text of a reply, and the review that it is. Comments that cannot be on a line are listed in the text. */
export async function prepareReview(
  reply: string,
  { action, driver, to, commit }: ReviewTarget,
  signal: AbortSignal,
): Promise<PreparedReply> {
  // Without an agent the reply came from outside, and must not become a verdict.
  if (!action?.review || action.agent === "none") return { text: reply, warnings: [] };
  const { text, review, more, problem } = parseReview(reply);
  if (problem !== undefined)
    return { text, warnings: [`The review block cannot be used: ${problem}. It is shown as text.`] };
  if (!review) return { text, warnings: [] };
  if (commit === undefined || !driver.readDiff) return { text: addUnplaced(text, review.comments, more), warnings: [] };
  const diff = await driver.readDiff(to, commit, signal);
  if (!diff) {
    const warning = `The commit ${commit.slice(0, 12)} cannot be reviewed there: the review was sent as text.`;
    return { text: addUnplaced(text, review.comments, more), warnings: [warning] };
  }
  const { verdict, warnings } = limitVerdict(review, action.review, action.stranger);
  const { placed, others } = placeComments(review.comments, diff, driver.limit);
  const unplaced = addUnplaced(text, others, more);
  return {
    // A review needs a text: without one there would be no message.
    text: unplaced === "" ? summarize(verdict, placed.length) : unplaced,
    review: { verdict, commit, base: diff.base, start: diff.start, comments: placed },
    warnings,
  };
}

/** An agent that may only comment must not be able to approve, whatever it was made to write. */
function limitVerdict(
  { verdict }: ReviewBlock,
  strongest: ReviewVerdict,
  isStrangers: boolean | undefined,
): { verdict: ReviewVerdict; warnings: string[] } {
  if (REVIEW_VERDICTS.indexOf(verdict) <= REVIEW_VERDICTS.indexOf(strongest)) return { verdict, warnings: [] };
  const rule = isStrangers ? "a turn that a stranger started" : `review: "${strongest}"`;
  const warning = `The agent's verdict was "${verdict}", which ${rule} does not allow: the review is a comment.`;
  return { verdict: "comment", warnings: [warning] };
}

function summarize(verdict: ReviewVerdict, comments: number): string {
  const count = comments === 1 ? "1 comment." : `${comments} comments.`;
  return { comment: count, "request-changes": `Please change this: ${count}`, approve: "Approved." }[verdict];
}

/** A service refuses a comment on a line outside of the diff, and some refuse the whole review with it. */
function placeComments(
  comments: ReviewComment[],
  { files }: ChangeDiff,
  limit: number,
): { placed: LineComment[]; others: ReviewComment[] } {
  const linesOf = new Map<string, DiffLine[]>();
  const placed: LineComment[] = [];
  const others: ReviewComment[] = [];
  for (const comment of comments) {
    const { side, text } = comment;
    const name = comment.file.replace(/^\.\//, "");
    const file = files.find(({ path, oldPath }) => path === name || (side === "old" && oldPath === name));
    const lines = file && (linesOf.get(file.path) ?? parseHunks(file.patch));
    if (file && lines) linesOf.set(file.path, lines);
    const find = (number: number): DiffLine | undefined =>
      lines?.find((line) => line[side] === number && line.kind !== (side === "new" ? "removed" : "added"));
    const line = find(comment.line);
    if (!file || !line || text.length > limit) {
      others.push(comment);
      continue;
    }
    const start = comment.startLine === undefined ? undefined : find(comment.startLine);
    const first = start?.hunk === line.hunk ? start : undefined;
    placed.push({ path: file.path, oldPath: file.oldPath ?? file.path, side, first, line, text });
  }
  return { placed, others };
}

function addUnplaced(text: string, ...lists: ReviewComment[][]): string {
  const listed = lists.flat().map(({ file, line, startLine, side, text: said }) => {
    const lines = startLine === undefined ? `line ${line}` : `lines ${startLine}–${line}`;
    // A backtick or a line end would end the code.
    const name = file.replaceAll(/[`\p{C}\p{Z}]+/gu, " ").trim();
    return `\`${name}\`, ${lines}${side === "old" ? " of the old file" : ""}:\n\n${said.trim()}`;
  });
  return [text, ...listed].filter((part) => part !== "").join("\n\n");
}
