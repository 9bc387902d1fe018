import { isObject, parseJson } from "../shared/json.ts";
import { type Fence, findFences } from "../shared/text/split-text.ts";
import type { ReviewVerdict } from "../ports/channel.ts";
import { type AgentAction, listTargets, REVIEW_VERDICTS } from "../types.ts";
import type { ApprovalDraft } from "../approvals/ask.ts";
import { closeLinks } from "../boundary/links.ts";
import type { NewApproval, NewDelivery } from "../journal/journal.ts";

/** A reply that is on its way to a target. */
export interface Reply {
  delivery: NewDelivery;
  /** Only people whom the operator knows can see it. */
  isPrivate: boolean;
}

export interface ReplyOptions {
  /** The run of a question about the reply, with the private sources of the reply. */
  about: Omit<ApprovalDraft, "kind" | "deliveries">;
  /** Hosts that links may lead to: `agents.linkHosts`. */
  linkHosts: readonly string[];
  /** The host of the service that the event is about. */
  serviceHost?: string;
  /** The reply may hold a review. */
  isReview: boolean;
  /** Names questions to a person. */
  ask(drafts: ApprovalDraft[]): Promise<NewApproval[]>;
}

interface SentReplies {
  deliveries: NewDelivery[];
  /** For replies that a person must see first. */
  questions?: NewApproval[];
  warnings: string[];
}

/** Rules for a reply that was made from something private. The tests of injections replace them one by one. */
export const REPLY_RULES = {
  /** A reply that others can see waits for a person. */
  mustWait: ({ isPrivate }: Reply): boolean => !isPrivate,
  /** Addresses in it carry nothing away. */
  closeLinks,
  /** `*.example.com` stands for every host below it. */
  isWithinHost: (host: string, pattern: string): boolean =>
    pattern.startsWith("*.") ? host.endsWith(pattern.slice(1)) : host === pattern,
};

/** Sends replies as they are, unless they were made from something private. */
export async function sendReplies(replies: readonly Reply[], options: ReplyOptions): Promise<SentReplies> {
  const [first] = replies;
  const { about, ask } = options;
  if (about.sources.length === 0 || !first)
    return { deliveries: replies.map(({ delivery }) => delivery), warnings: [] };
  const { text, hosts } = await closeReply(first.delivery.text, options);
  const closed = replies.map(({ delivery, ...reply }) => ({ ...reply, delivery: { ...delivery, text } }));
  const waiting = closed.filter((reply) => REPLY_RULES.mustWait(reply)).map(({ delivery }) => delivery);
  const deliveries = closed.map(({ delivery }) => delivery).filter((delivery) => !waiting.includes(delivery));
  const warnings = hosts.length === 0 ? [] : [describeCut(hosts)];
  if (waiting.length === 0) return { deliveries, warnings };
  const places = [...new Set(waiting.map(({ channel }) => channel))].join(", ");
  const waits = `The reply to ${places} waits for a person: others can see it, and it was made from private text of ${about.sources.join(", ")}.`;
  const questions = await ask(waiting.map((delivery) => ({ ...about, kind: "reply", deliveries: [delivery] })));
  return { deliveries, questions, warnings: [...warnings, waits] };
}

function describeCut(hosts: string[]): string {
  return `Links in the reply lost their query and fragment, because it was made from private text: ${hosts.slice(0, 10).join(", ")}. To keep them, add the hosts to agents.linkHosts.`;
}

/** The comments of a review are texts in JSON, and become Markdown only when they are sent. */
async function closeReply(
  reply: string,
  { linkHosts, serviceHost, isReview }: ReplyOptions,
): Promise<{ text: string; hosts: string[] }> {
  const isOpen = toOpenHosts(linkHosts, serviceHost);
  const { text, review, more }: ParsedReply = isReview ? parseReview(reply) : { text: reply, more: [] };
  const body = await REPLY_RULES.closeLinks(text, isOpen);
  if (!review) return body;
  const comments = await Promise.all(
    [...review.comments, ...more].map(async (comment) => {
      const closed = await REPLY_RULES.closeLinks(comment.text, isOpen);
      body.hosts.push(...closed.hosts);
      return { ...comment, text: closed.text };
    }),
  );
  const block = JSON.stringify({ ...review, comments });
  return { text: `${body.text}\n\n\`\`\`review\n${block}\n\`\`\``.trim(), hosts: [...new Set(body.hosts)] };
}

/** Whether links to a host may carry everything. */
export function toOpenHosts(linkHosts: readonly string[], serviceHost?: string): (host: string) => boolean {
  return (host) =>
    (serviceHost !== undefined && REPLY_RULES.isWithinHost(host, `*.${serviceHost}`)) ||
    host === serviceHost ||
    linkHosts.some((pattern) => REPLY_RULES.isWithinHost(host, pattern.toLowerCase()));
}

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
  const fence = findFences(reply).findLast((each) => isReviewBlock(each) && isClosed(reply, each));
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

function isReviewBlock({ open }: Fence): boolean {
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
