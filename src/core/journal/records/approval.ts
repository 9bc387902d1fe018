import { DAY_MS } from "../../shared/time.ts";
import { randomInt } from "node:crypto";
import type { ApprovalKind, ApprovalState, ChannelName, Decision } from "../../types.ts";
import type { NewDelivery } from "./delivery.ts";
import type { CallArguments } from "./step.ts";

/** A question to a person. The question never changes. */
export interface NewApproval {
  id: string;
  kind: ApprovalKind;
  /** Four characters, from `Journal.reserveCodes`: its name in a message. */
  code: string;
  runId: string;
  eventId?: string;
  hook?: string;
  /** The id of the mapping; empty for the built-in hooks. */
  mapping: string;
  /** The step of the call; of a reply, the last step of its run, or 0. */
  step: number;
  /** `<set>.<call>`; absent for a reply. */
  call?: string;
  /** The final arguments. */
  arguments?: CallArguments;
  /** Names of the arguments that the operator fixed. Absent: none. */
  fixed?: string[];
  /** The description of the call, as it was when it was asked. */
  description?: string;
  /** Where the call is sent, as it was when it was asked: `POST https://payments.example/refunds`. */
  address?: string;
  /** Digest of the call and its arguments. */
  hash?: string;
  /** Digest of the grant, the block of the set without its secrets, and the locked call, as they were when it was asked. */
  basis?: string;
  /** The private sources of what the model had read. */
  sources: string[];
  /** The author of the event: `github:9 (@x, contributor)`. */
  startedBy?: string;
  /** The calls that the event has led to before, if it is a replay. */
  earlier?: string[];
  /** Its message does not show everything, so that no message can answer it. */
  onlyOnPage?: true;
  /** Where its message is, if that can be edited: it says how the question has ended. */
  editable?: { channel: ChannelName; to: string };
  /** The deliveries of a reply, which an approval inserts. */
  deliveries?: NewDelivery[];
  askedAt: number;
  /** When it is denied, unless somebody decides. Absent: never. */
  expiresAt?: number;
  /** From when on the call can be repeated, if the outcome is asked for. */
  againAt?: number;
  /** The delivery that asks. Absent: it can only be answered on the page, by a command or the API. */
  question?: NewDelivery;
}

export interface NewDecision {
  decision: Decision;
  /** The person: `slack:T0ACME/U0ANN`, or `operator` with the gateway's token. */
  by: string;
  at: number;
  reason?: string;
  /** With `done`: what the call gave, as far as it is known. */
  result?: string;
}

export interface Approval extends Omit<NewApproval, "question"> {
  state: ApprovalState;
  /** The delivery that asks. */
  questionId?: string;
  decision?: Decision;
  by?: string;
  /** When it was decided, has expired or was withdrawn. */
  decidedAt?: number;
  reason?: string;
  result?: string;
}

/** `decided`: this was the first decision · `conflict`: it was decided before, or has ended otherwise. */
export interface Decided {
  kind: "decided" | "conflict";
  approval: Approval;
}

/** A question that was asked in a place, and the delivery that asked it. */
export interface AskedApproval {
  approval: Approval;
  /** When the question was sent. */
  sentAt: number;
  /** The ids of its messages, as the channel gave them. */
  messageIds: string[];
}

/** A button below a question, as it is kept: never its value. */
export interface DrawnButton {
  /** SHA-256 of its value, in hexadecimal. */
  hash: string;
  decision: Decision;
}

/** A button with its question, and the place where that was asked. */
export interface PressedButton {
  asked: AskedApproval;
  decision: Decision;
  /** The ids of all messages that may have it are known. An attempt whose end was lost may have sent another one. */
  isRecorded: boolean;
  channel: ChannelName;
  to: string;
}

/** The end of an approval with a step of its call. */
export interface ApprovalUse {
  id: string;
  /** used: it was approved · withdrawn: it was approved or open, or used for a call that was not sent after all. */
  state: "used" | "withdrawn";
  reason?: string;
}

/** Open questions of a mapping. Further calls and replies are denied. */
export const MAX_OPEN = 20;

/** Why one of them is denied. */
export const TOO_MANY_OPEN = `${MAX_OPEN} questions of this mapping are open already`;

/** Why the questions of a canceled run are withdrawn. */
export const RUN_CANCELED = "Its run was canceled.";

/** How long a code names the same question. */
export const KEEP_CODE_MS = 30 * DAY_MS;

/** Without those that look alike. */
const CODE_CHARACTERS = "23456789abcdefghjkmnpqrstuvwxyz";
const CODE_LENGTH = 4;

export function createCode(): string {
  return Array.from({ length: CODE_LENGTH }, () => CODE_CHARACTERS[randomInt(CODE_CHARACTERS.length)]).join("");
}
