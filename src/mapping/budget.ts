import { HookError } from "../errors.ts";

/**
 * What the templates of one request may still write, in characters. A harmless template over a crafted payload (a list
 * inside a list, the whole payload for each item) could otherwise fill the memory or hold up every other request.
 */
export interface Budget {
  left: number;
}

/** A turn of a loop takes about as long as it takes to write so many characters. */
export const TURN_COST = 32;

const CHARACTERS = 1_048_576;
const CHARACTERS_PER_BYTE = 8;

/** 1 Mi characters, and eight times the size of the body: large payloads may be rendered, a few times over. */
export function createBudget(bodyBytes = 0): Budget {
  return { left: CHARACTERS + CHARACTERS_PER_BYTE * bodyBytes };
}

/** Throws a 413 `HookError` once the budget is used up. */
export function spend(budget: Budget, amount: number): void {
  budget.left -= amount;
  if (budget.left >= 0) return;
  throw new HookError(413, "payload_too_large", "This payload makes more text than one request may.");
}
