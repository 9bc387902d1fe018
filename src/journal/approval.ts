import { randomInt } from "node:crypto";

/** call: a call that changes something · outcome: of a call that may have been executed · reply: a reply that is held back. */
export type ApprovalKind = "call" | "outcome" | "reply";

/**
 * open: nobody has decided · approved: a person said yes, or what is known of an outcome · used: the call was sent · denied,
 * expired: a no · withdrawn: it cannot be used any more.
 */
export const APPROVAL_STATES = ["open", "approved", "used", "denied", "expired", "withdrawn"] as const;
export type ApprovalState = (typeof APPROVAL_STATES)[number];

/** What a person can say: to a call and a reply the first two, to an outcome the others. */
export type Decision = "approve" | "deny" | "done" | "again" | "give-up";

/** Why a run is held until a person decides. Nothing else releases it. */
export const QUESTION_HOLDS = {
  approval: "approval",
  outcome: "outcome unknown",
} as const;

/** Open questions of a mapping. Further calls and replies are denied. */
export const MAX_OPEN = 20;

/** Why one of them is denied. */
export const TOO_MANY_OPEN = `${MAX_OPEN} questions of this mapping are open already`;

/** Why the questions of a dropped run are withdrawn. */
export const RUN_DROPPED = "The run was dropped.";

/** How long a code names the same question. */
export const KEEP_CODE_MS = 30 * 86_400_000;

/** Without those that look alike. */
const CODE_CHARACTERS = "23456789abcdefghjkmnpqrstuvwxyz";
const CODE_LENGTH = 4;

export function createCode(): string {
  return Array.from({ length: CODE_LENGTH }, () => CODE_CHARACTERS[randomInt(CODE_CHARACTERS.length)]).join("");
}
