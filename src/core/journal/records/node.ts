import type { NodeRole } from "../../config/resolved-config.ts";
import type { ApprovalState, DeliveryState, RunState } from "../../types.ts";

/** The published state of a node. */
export interface NodeInfo {
  role: NodeRole;
  host: string;
  version: string;
  /** Digest of its configuration: nodes with different ones answer differently. */
  config: string;
  startedAt: number;
}

export interface NodeRecord extends NodeInfo {
  id: string;
  /** When it renewed its lease, by the store's clock. */
  seenAt: number;
  isAlive: boolean;
}

export interface Lease {
  name: string;
  /** Outdated once another node has acquired the lease. */
  token: number;
}

/**
 * Proves that a run or delivery is still claimed by the caller: once the claim is lost and another node has claimed it, the
 * token is outdated.
 */
export interface Claim {
  id: string;
  token: number;
}

export interface NewNote extends Pick<Note, "key"> {
  kind: string;
  /** Absent: the note is removed. */
  json?: string;
  /** Default: never. */
  expiresAt?: number;
}

/** A value that the service keeps for itself. */
export interface Note {
  key: string;
  json: string;
}

/**
 * Kinds of work that a commit may have made due; `lease`: a node has released a named lease; `cancel`: a run that is
 * running was canceled; `publication`: there is a new one, or another subscription.
 */
export type NewWork = "run" | "delivery" | "heartbeat" | "lease" | "cancel" | "publication";

/** A change by a commit. The reader takes the rest from the journal. */
export type Change =
  /** An event was recorded, or its run, a delivery or its status changed. */
  | { kind: "event"; id: string }
  /** A run or delivery was claimed, has ended, waits for another attempt, is held or released. */
  | { kind: "run"; id: string; eventId?: string; state: RunState }
  | { kind: "delivery"; id: string; eventId?: string; state: DeliveryState }
  /** A run or delivery became a dead letter, or it was retried or dropped. */
  | { kind: "dead-letter"; id: string; eventId?: string; isDead: boolean }
  /** An approval was asked, or has ended. */
  | { kind: "approval"; id: string; eventId?: string; state: ApprovalState }
  /** Entries were added to a session. */
  | { kind: "session"; key: string };
