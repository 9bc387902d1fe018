import type { AskedApproval, Journal } from "../journal/journal.ts";
import { findVendor, type PersonMessage, type Vendors } from "../ports/vendor.ts";
import { toObject } from "../shared/json.ts";
import type { Log } from "../telemetry/log.ts";
import { type HookRequest, isSender } from "../types.ts";
import { accountOf, isOtherUse, type Sender } from "./answer-sender.ts";

/** A message of a person that has the form of an answer. Whether it counts depends on what was asked, where and of whom. */
export interface ChatAnswer extends Omit<PersonMessage, "text"> {
  code: string;
  decision: "approve" | "deny";
  reason?: string;
}

/** Undefined unless a verified event of this preset is a new message that is an answer and nothing else. */
export function readAnswer(
  preset: string,
  event: { payload: unknown; headers: Record<string, string> },
  { vendors, log }: Pick<TakeOptions, "vendors" | "log">,
): ChatAnswer | undefined {
  const { text, ...message } = readMessage(preset, event, { vendors, log }) ?? {};
  const found = typeof text === "string" && text.length <= MAX_LENGTH ? parseAnswer(text) : undefined;
  return found && isComplete(message) ? { ...message, ...found } : undefined;
}

const MAX_LENGTH = 2000;

/** A plugin that throws, at a form that it does not expect, costs no event: it is one like any other. */
function readMessage(
  preset: string,
  { payload, headers }: { payload: unknown; headers: Record<string, string> },
  { vendors, log }: Pick<TakeOptions, "vendors" | "log">,
): PersonMessage | undefined {
  try {
    return findVendor(vendors, preset)?.readMessage?.({ payload: toObject(payload), headers });
  } catch {
    // The message of the error may quote the payload.
    log.warn("readMessage of a vendor failed, so the event is no answer", { step: "approvals", preset });
    return undefined;
  }
}

/** The whole message: whatever else it says, it was not meant for us. */
function parseAnswer(text: string): Pick<ChatAnswer, "code" | "decision" | "reason"> | undefined {
  const approved = /^approve +(?<code>[a-z0-9]{4,12})$/i.exec(text.trim());
  if (approved) return { decision: "approve", code: codeOf(approved) };
  const denied = /^deny +(?<code>[a-z0-9]{4,12})(?: +because +(?<reason>\S[^]*))?$/i.exec(text.trim());
  return denied ? { decision: "deny", code: codeOf(denied), reason: denied.groups?.["reason"] } : undefined;
}

function codeOf({ groups }: RegExpExecArray): string {
  return (groups?.["code"] ?? "").toLowerCase();
}

type Place = Omit<PersonMessage, "text">;

function isComplete(message: Partial<Place>): message is Place {
  const { person, to, at, messageId } = message;
  return [person, to, messageId].every((part) => typeof part === "string" && part !== "") && Number.isFinite(at);
}

export interface TakeOptions {
  journal: Pick<Journal, "findAsked" | "decideApproval">;
  /** The people who may answer: `agents.approvals.by`. */
  by: readonly string[];
  mappings: readonly Sender[];
  vendors: Vendors;
  log: Pick<Log, "warn">;
  /** Whether a delivery sent the message with this id. */
  isDelivered(messageId: string, channel: string): Promise<boolean>;
}

export interface TakenAnswer {
  approvalId: string;
  mapping: string;
  /** The recorded reason of the event. */
  reason: string;
}

/** An answer, with its question, its person and its channel. */
interface GivenAnswer extends Pick<TakeOptions, "by" | "isDelivered" | "mappings"> {
  answer: ChatAnswer;
  asked: AskedApproval;
  /** Where the question was asked. */
  place: string;
  sender: Sender;
  /** The person, as in `agents.approvals.by`. */
  person: string;
  channel: string;
}

/** All of them hold for an answer that counts. The tests of injections replace them one by one. */
export const ANSWER_RULES: Record<string, (given: GivenAnswer) => boolean | Promise<boolean>> = {
  isApprover: ({ person, by }) => by.includes(person),
  /** A sender with another secret of the account could sign an answer of any person in any place. */
  isInPlace: ({ sender, mappings, place }) =>
    sender.bounds?.covers(place) === true || !mappings.some((other) => isOtherUse(other, sender)),
  /** A service counts in seconds. */
  isLater: ({ answer, asked }) => answer.at >= Math.floor(asked.sentAt / 1000),
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
  const { journal, by, mappings, vendors, log, isDelivered } = options;
  if (by.length === 0 || !isSender(request.credential)) return undefined;
  const sender = mappings.find(
    ({ credential, source }) =>
      credential === request.credential && findVendor(vendors, source.preset)?.readMessage !== undefined,
  );
  const { preset = "", mapping, id = "" } = sender?.source ?? {};
  const channel = accountOf(mapping ?? {});
  const answer = readAnswer(preset, request, { vendors, log });
  const found = answer && (await findAsked(answer, channel, journal));
  if (!found || !sender) return undefined;
  const { asked } = found;
  const person = `${channel}:${answer.person}`;
  const given = { answer, ...found, sender, mappings, person, channel, by, isDelivered };
  for (const holds of Object.values(ANSWER_RULES)) if (!(await holds(given))) return undefined;
  const { code, decision, reason } = answer;
  const decided = await journal.decideApproval(asked.approval.id, { decision, reason, by: person, at: Date.now() });
  const before = decided?.approval.state === "expired" ? "had expired" : "was decided before";
  return {
    approvalId: asked.approval.id,
    mapping: id,
    reason: `answered ${code}${decided?.kind === "decided" ? "" : `, which ${before}`}`,
  };
}

/** In the place where it was asked: there, or in the thread below the question. */
async function findAsked(
  { code, to, thread }: ChatAnswer,
  channel: string,
  journal: TakeOptions["journal"],
): Promise<Pick<GivenAnswer, "asked" | "place"> | undefined> {
  const asked = await journal.findAsked(code, channel, to);
  if (asked) return { asked, place: to };
  const above = thread && (await journal.findAsked(code, channel, thread.of));
  if (!thread || !above?.messageIds.includes(thread.messageId)) return undefined;
  return { asked: above, place: thread.of };
}
