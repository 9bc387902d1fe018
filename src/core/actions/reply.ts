import type { ApprovalDraft } from "../approvals/ask.ts";
import { closeLinks } from "../boundary/links.ts";
import type { NewApproval, NewDelivery } from "../journal/journal.ts";
import { parseReview, type ParsedReply } from "./parse-review.ts";

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
  const isOpen = (host: string): boolean =>
    (serviceHost !== undefined && REPLY_RULES.isWithinHost(host, `*.${serviceHost}`)) ||
    host === serviceHost ||
    linkHosts.some((pattern) => REPLY_RULES.isWithinHost(host, pattern.toLowerCase()));
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
