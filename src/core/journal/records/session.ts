import type { Bounded } from "../../boundary/boundary.ts";

export const ENTRY_ROLES = ["system", "user", "assistant"] as const;

/** One side of a turn in a session, or a system event of the main session. */
export interface NewEntry extends Bounded {
  sessionKey: string;
  role: (typeof ENTRY_ROLES)[number];
  at: number;
  eventId?: string;
  runId?: string;
  /** A system event that no heartbeat has consumed yet. */
  pending?: boolean;
  /** With `pending`: requests a heartbeat at once, also after a restart. */
  urgent?: boolean;
  /** The private sources that the text was made from. Absent: none. */
  sources?: string[];
}

export interface Entry extends NewEntry {
  /** Grows with time across all sessions: the cursor. */
  seq: number;
}

/** An entry as a later turn gets it. */
export type Turn = Pick<Entry, "role" | "text" | "boundary" | "sources" | "at">;

export interface SessionSummary {
  key: string;
  createdAt: number;
  updatedAt: number;
  entries: number;
  /** The event of its newest entry, in lists. */
  eventId?: string;
}
