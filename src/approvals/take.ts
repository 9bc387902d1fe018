import type { AskedApproval, Journal } from "../journal/journal.ts";
import { toChannelName } from "../shared/text.ts";
import type { HookRequest } from "../types.ts";
import { type ChatAnswer, isAnswerable, readAnswer } from "./answer.ts";

/** The part of a mapping that says which service its events are of. */
interface Sender {
  credential?: string;
  source: { id: string; preset?: string; mapping: { source?: { channel: string } } };
}

export interface TakeOptions {
  journal: Pick<Journal, "findAsked" | "decideApproval">;
  /** Of `agents.approvals`. */
  by: readonly string[];
  mappings: readonly Sender[];
  /** Whether a delivery sent the message with this id. */
  isDelivered(messageId: string, channel: string): Promise<boolean>;
}

/** An answer that was taken. */
export interface TakenAnswer {
  approvalId: string;
  mapping: string;
  /** What the event is recorded with. */
  reason: string;
}

/** What an answer was given to, by whom, in which channel. */
interface GivenAnswer extends Pick<TakeOptions, "by" | "isDelivered"> {
  answer: ChatAnswer;
  asked: AskedApproval;
  /** The person, as in `agents.approvals.by`. */
  person: string;
  channel: string;
}

/** All of them hold for an answer that counts. The tests of injections replace them one by one. */
export const ANSWER_RULES: Record<string, (given: GivenAnswer) => boolean | Promise<boolean>> = {
  isApprover: ({ person, by }) => by.includes(person),
  /** A service counts in seconds. */
  isLater: ({ answer, asked }) => answer.at >= Math.floor(asked.sentAt / 1000),
  isInTime: ({ asked }) => Date.now() < (asked.approval.expiresAt ?? Infinity),
  /** The person has seen all of it, and yes or no is what was asked. */
  isWhole: ({ asked: { approval } }) => !approval.onlyOnPage && approval.kind !== "outcome",
  /** An agent can be made to write anything, and its account may be that of a person. */
  isNotOurs: async ({ answer, channel, isDelivered }) => !(await isDelivered(answer.messageId, channel)),
};

/**
 * Decides a question if the request is a person's answer to it. The request has been verified by a sender's own secret:
 * nobody else can make one. Undefined: it is an event like any other.
 */
export async function takeAnswer(request: HookRequest, options: TakeOptions): Promise<TakenAnswer | undefined> {
  const { journal, by, mappings, isDelivered } = options;
  if (by.length === 0 || !request.credential.startsWith("auth:")) return undefined;
  const sender = mappings.find(
    ({ credential, source }) => credential === request.credential && isAnswerable(source.preset),
  );
  const { preset = "", mapping, id = "" } = sender?.source ?? {};
  const channel = toChannelName(mapping?.source?.channel ?? "");
  const answer = readAnswer(preset, request);
  const asked = answer && (await findAsked(answer, channel, journal));
  if (!asked) return undefined;
  const person = `${channel}:${answer.person}`;
  const given = { answer, asked, person, channel, by, isDelivered };
  for (const holds of Object.values(ANSWER_RULES)) if (!(await holds(given))) return undefined;
  const { code, decision, reason } = answer;
  const decided = await journal.decideApproval(asked.approval.id, { decision, reason, by: person, at: Date.now() });
  const isFirst = decided?.kind === "decided";
  return {
    approvalId: asked.approval.id,
    mapping: id,
    reason: `answered ${code}${isFirst ? "" : ", which was decided before"}`,
  };
}

/** In the place where it was asked: there, or in the thread below the question. */
async function findAsked(
  { code, to, thread }: ChatAnswer,
  channel: string,
  journal: TakeOptions["journal"],
): Promise<AskedApproval | undefined> {
  const asked = await journal.findAsked(code, channel, to);
  if (asked || !thread) return asked;
  const above = await journal.findAsked(code, channel, thread.of);
  return above?.messageIds.includes(thread.messageId) ? above : undefined;
}
