import { hash } from "node:crypto";
import type { Journal, PressedButton } from "../journal/journal.ts";
import { type ButtonPress, findVendor, type Vendors } from "../ports/vendor.ts";
import { toObject } from "../shared/json.ts";
import type { Log } from "../telemetry/log.ts";
import { type HookRequest, isSender } from "../types.ts";
import { accountOf, isOtherUse, type Sender } from "./answer-sender.ts";
import { decide } from "./decide.ts";
import { describeEnd } from "./question/card.ts";

/** The journal keeps this of the value of a button. */
export function toButtonHash(value: string): string {
  return hash("sha256", value);
}

export interface PressOptions {
  journal: Pick<Journal, "findPressed" | "keepAsked" | "getApproval" | "decideApproval">;
  /** The people who may answer: `agents.approvals.by`. */
  by: readonly string[];
  mappings: readonly Sender[];
  vendors: Vendors;
  log: Pick<Log, "warn">;
}

export interface TakenPress {
  press: ButtonPress;
  /** The button is one that the journal knows. */
  isKnown: boolean;
  mapping: string;
  channel: string;
  /** The recorded reason of the event. */
  reason: string;
  /** Absent: the press has decided nothing. */
  approvalId?: string;
  /** The text that the presser alone gets. */
  text?: string;
}

/** A press, with its question, its person and its channel. */
interface GivenPress extends Pick<PressOptions, "by" | "mappings"> {
  press: ButtonPress;
  pressed: PressedButton;
  sender: Sender;
  /** The person, as in `agents.approvals.by`. */
  person: string;
  channel: string;
}

/** All of them hold for a press that counts. The tests of injections replace them one by one. */
export const PRESS_RULES: Record<string, (given: GivenPress) => boolean> = {
  isApprover: ({ person, by }) => by.includes(person),
  /** A sender with another secret of the account could sign a press of any person in any place. */
  isInPlace: ({ sender, mappings, pressed }) =>
    sender.bounds?.covers(pressed.to) === true || !mappings.some((other) => isOtherUse(other, sender)),
  /** Somebody could post the button anew, below another text. */
  isOurMessage: ({ press, pressed, channel }) =>
    pressed.channel === channel && (isKnown(press, pressed) || (!pressed.isRecorded && isInSamePlace(press, pressed))),
  /** The person has seen all of it. */
  isWhole: ({ pressed: { asked } }) => !asked.approval.onlyOnPage,
};

function isKnown({ messageId }: ButtonPress, { asked }: PressedButton): boolean {
  return asked.messageIds.includes(messageId);
}

/** The recipient may be a name: then the id of its message says the place. */
function isInSamePlace({ to }: ButtonPress, { asked, to: recipient }: PressedButton): boolean {
  return [recipient, ...asked.messageIds].map(toPlace).includes(toPlace(to));
}

function toPlace(address: string): string | undefined {
  return address.split(/[:/;]/, 1)[0];
}

/**
 * Decides a question if the request is the press of a button below one. Undefined: it is none of ours, but an event like any
 * other. A press that does not count starts nothing either.
 */
export async function takePress(request: HookRequest, options: PressOptions): Promise<TakenPress | undefined> {
  const { journal, by, mappings, vendors } = options;
  if (!isSender(request.credential)) return undefined;
  const sender = mappings.find(
    ({ credential, source }) =>
      credential === request.credential && findVendor(vendors, source.preset)?.readPress !== undefined,
  );
  const press = sender && readPress(sender.source.preset ?? "", request, options);
  if (!sender || !press) return undefined;
  const channel = accountOf(sender.source.mapping);
  const pressed = await journal.findPressed(toButtonHash(press.value));
  const taken = { press, channel, mapping: sender.source.id, isKnown: pressed !== undefined };
  if (!pressed) return { ...taken, reason: "it is a press of a button that is not known" };
  const person = `${channel}:${press.person}`;
  const given = { press, pressed, sender, mappings, person, channel, by };
  const failing = Object.entries(PRESS_RULES).find(([, holds]) => !holds(given));
  if (failing) return { ...taken, reason: `it is a press that does not count: ${WHY[failing[0]] ?? "a rule"}` };
  const { approval } = pressed.asked;
  // The end of the question edits the messages that are kept.
  if (!isKnown(press, pressed)) await journal.keepAsked(approval.id, press.messageId);
  const result = await decide(journal, approval.id, { decision: pressed.decision, by: person, at: Date.now() });
  const { code } = approval;
  if (result.kind === "decided") return { ...taken, reason: `answered ${code}`, approvalId: approval.id };
  if (result.kind === "refused")
    return { ...taken, reason: `answered ${code}: ${result.message}`, text: result.message };
  const end = result.kind === "conflict" ? describeEnd(result.approval) : "The question is gone.";
  return { ...taken, reason: `answered ${code}, which had ended: ${end}`, text: end };
}

const WHY: Readonly<Record<string, string>> = {
  isApprover: "the person is not in agents.approvals.by",
  isInPlace: "another use of the account could have signed it",
  isOurMessage: "the button is below another message",
  isWhole: "the message does not show all of it",
};

/** A plugin that throws, at a form that it does not expect, costs no event: it is one like any other. */
function readPress(
  preset: string,
  { payload, headers }: HookRequest,
  { vendors, log }: Pick<PressOptions, "vendors" | "log">,
): ButtonPress | undefined {
  try {
    const press = findVendor(vendors, preset)?.readPress?.({ payload: toObject(payload), headers });
    const parts = [press?.value, press?.person, press?.messageId, press?.to];
    return parts.every((part) => typeof part === "string" && part !== "") ? press : undefined;
  } catch {
    // The message of the error may quote the payload.
    log.warn("readPress of a vendor failed, so the event is no press", { step: "approvals", preset });
    return undefined;
  }
}
