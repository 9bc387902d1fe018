import { randomInt } from "node:crypto";

/** Open questions of a mapping. Further calls and replies are denied. */
export const MAX_OPEN = 20;

/** Why one of them is denied. */
export const TOO_MANY_OPEN = `${MAX_OPEN} questions of this mapping are open already`;

/** Why the questions of a dropped run are withdrawn. */
export const RUN_DROPPED = "The run was dropped.";
export const RUN_CANCELED = "Its run was canceled.";

/** How long a code names the same question. */
export const KEEP_CODE_MS = 30 * 86_400_000;

/** Without those that look alike. */
const CODE_CHARACTERS = "23456789abcdefghjkmnpqrstuvwxyz";
const CODE_LENGTH = 4;

export function createCode(): string {
  return Array.from({ length: CODE_LENGTH }, () => CODE_CHARACTERS[randomInt(CODE_CHARACTERS.length)]).join("");
}
