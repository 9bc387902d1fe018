export const TALLY_NAMES = [
  "requests",
  "clientErrors",
  "serverErrors",
  "totalMs",
  "slowestMs",
  "refused",
  "turns",
  "failedTurns",
  "place",
  "from",
  "up",
] as const;
/**
 * requests: answered, of which `clientErrors` with 4xx and `serverErrors` with 5xx · totalMs: how long all of them took ·
 * slowestMs: how long the slowest took · refused: before their sender was known, so that no row has them · turns, failedTurns:
 * that ended · place, from: events that these left out · up: the service ran.
 */
export type TallyName = (typeof TALLY_NAMES)[number];

/** A count of five minutes. Those of one name add up, except `slowestMs`, which is the highest. */
export interface Tally {
  /** The start of its five minutes. */
  at: number;
  /** Empty: it is of no mapping, or of any. */
  mapping: string;
  what: TallyName;
  /** A whole number. */
  n: number;
}
