import { isObject, parseJson } from "../shared/json.ts";
import { type Fence, findFences } from "../shared/text/split-text.ts";
import type { ReviewVerdict } from "../ports/channel.ts";
import { type AgentAction, listTargets, REVIEW_VERDICTS } from "../types.ts";

/** An agent's review of a change. */
export interface ReviewBlock {
  verdict: ReviewVerdict;
  comments: ReviewComment[];
}

export interface ReviewComment {
  file: string;
  /** The number of the line in the new file, or with `side: "old"` in the old one. */
  line: number;
  side: "new" | "old";
  /** The first line, if the comment is about several. */
  startLine?: number;
  text: string;
}

/** The agent's words for it, in front of the boundary. Undefined: the reply cannot be a review. */
export function describeReviewFormat(action: AgentAction): string | undefined {
  const { review, agent } = action;
  if (!review || agent === "none" || !listTargets(action).some(({ commit }) => commit !== undefined)) return undefined;
  const verdicts = REVIEW_VERDICTS.slice(0, REVIEW_VERDICTS.indexOf(review) + 1);
  return [
    "Your answer is posted as a review. To comment on lines, end it with one block of this form:",
    '```review\n{"verdict": "comment", "comments": [{"file": "src/cart.ts", "line": 12, "text": "…"}]}\n```',
    `"verdict" is ${verdicts.map((verdict) => `"${verdict}"`).join(" or ")}. "line" is a line of the diff, by its number ` +
      'in the new file; with "side": "old", in the old file. "startLine" makes it a range. ' +
      `There can be ${MAX_COMMENTS} comments. The text outside of the block is the summary.`,
  ].join("\n");
}

const MAX_COMMENTS = 50;

/** The text of a reply outside of its review block, and the review in it. */
export interface ParsedReply {
  text: string;
  /** Absent: there is no block, or it cannot be used. */
  review?: ReviewBlock;
  /** Comments that are too many for a review. */
  more: ReviewComment[];
  /** Why the block cannot be used. */
  problem?: string;
}

/** The last closed block is the review. One that cannot be used stays in the text. */
export function parseReview(reply: string): ParsedReply {
  const fence = findFences(reply).findLast((each) => isReview(each) && isClosed(reply, each));
  if (!fence) return { text: reply, more: [] };
  const body = reply.slice(fence.bodyStart, reply.lastIndexOf("\n", fence.end - 1));
  try {
    const { verdict, comments } = toBlock(parseJson(body));
    const outside = [reply.slice(0, fence.start).trim(), reply.slice(fence.end).trim()];
    return {
      text: outside.filter((part) => part !== "").join("\n\n"),
      review: { verdict, comments: comments.slice(0, MAX_COMMENTS) },
      more: comments.slice(MAX_COMMENTS),
    };
  } catch (error) {
    if (!(error instanceof BadBlock)) throw error;
    return { text: reply, more: [], problem: error.message };
  }
}

function isReview({ open }: Fence): boolean {
  return open.replace(/^[\s`~]+/, "").trim() === "review";
}

/** A block that is not closed may have been cut. */
function isClosed(reply: string, { start, end, open, close }: Fence): boolean {
  const block = reply.slice(start, end);
  const last = block.slice(block.lastIndexOf("\n") + 1).trim();
  return block.length > open.length && /^(?:`+|~+)$/.test(last) && last.startsWith(close.trim());
}

class BadBlock extends Error {}

function toBlock(value: unknown): ReviewBlock {
  if (!isObject(value)) throw new BadBlock("it is not a JSON object");
  const { verdict = "comment", comments = [] } = value;
  const known = REVIEW_VERDICTS.find((name) => name === verdict);
  if (!known) throw new BadBlock(`verdict must be one of ${REVIEW_VERDICTS.join(", ")}`);
  if (!Array.isArray(comments)) throw new BadBlock("comments must be a list");
  return { verdict: known, comments: comments.map(toComment) };
}

function toComment(value: unknown, index: number): ReviewComment {
  const at = `comments[${index}]`;
  if (!isObject(value)) throw new BadBlock(`${at} must be an object`);
  const { file, line, side = "new", startLine, text } = value;
  if (typeof file !== "string" || file.trim() === "") throw new BadBlock(`${at}.file must be a path`);
  if (!isLine(line)) throw new BadBlock(`${at}.line must be the number of a line`);
  if (side !== "new" && side !== "old") throw new BadBlock(`${at}.side must be new or old`);
  if (typeof text !== "string" || text.trim() === "") throw new BadBlock(`${at}.text must be a text`);
  const first = startLine ?? undefined;
  if (first !== undefined && (!isLine(first) || first > line)) {
    throw new BadBlock(`${at}.startLine must be the number of a line before line`);
  }
  return { file, line, side, startLine: first === line ? undefined : first, text };
}

function isLine(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0;
}
