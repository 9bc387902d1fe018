import { isObject, parseObject } from "../../shared/json.ts";

/** How far a mailbox is read. */
export interface Position {
  /** Everything up to this record of the mailbox's history is dealt with. */
  historyId: string;
  /** When the history was last read to its end, in milliseconds since the epoch, by this machine's clock. */
  readAt: number;
  /** What is to be looked through before the history goes on. */
  backlog?: Backlog;
}

export interface Backlog {
  /** Mails received from then on, in milliseconds since the epoch. */
  since: number;
  /** Gmail's ids of the last ones that were given already. */
  given: string[];
}

/** A position as the store keeps it. */
export function formatPosition(position: Position): string {
  return JSON.stringify(position);
}

/** What `formatPosition` made; undefined for anything else. */
export function parsePosition(text: string | undefined): Position | undefined {
  const { historyId, readAt, backlog } = parseObject(text ?? "");
  if (typeof historyId !== "string" || !/^\d{1,30}$/.test(historyId)) return undefined;
  if (typeof readAt !== "number") return undefined;
  return { historyId, readAt, ...(isBacklog(backlog) && { backlog }) };
}

/** The later of two records: their ids grow, past what a number can hold. */
export function laterRecord(one: string, other: string): string {
  return BigInt(one) < BigInt(other) ? other : one;
}

function isBacklog(value: unknown): value is Backlog {
  return isObject(value) && typeof value.since === "number" && Array.isArray(value.given);
}
