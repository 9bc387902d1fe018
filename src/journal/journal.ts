import type { ChannelName, DeliveryState, EventStatus, RunState } from "../types.ts";
import type {
  AcceptResult,
  DeadLetter,
  Delivery,
  DeliveryEnd,
  Entry,
  EventRecord,
  EventSummary,
  NewEntry,
  NewEvent,
  Route,
  Run,
  RunLimits,
  SessionSummary,
  TurnOutcome,
} from "./records.ts";

export type * from "./records.ts";

export interface Page {
  /** At most this many. */
  limit: number;
  /** Only what is older than the item with this id. */
  before?: string;
}

export interface Retention {
  /** Milliseconds since the epoch, as all times are. */
  now: number;
  /** What was received, or ended, before this moment may go. */
  keepFrom: number;
  /** While more is kept than this, the oldest may go, however young. */
  maxBytes?: number;
  /** While more idempotency keys are kept than this, the oldest may go, though they have not expired. */
  maxKeys?: number;
}

export interface JournalStats {
  events: number;
  /** Runs that are not finished, and deliveries that are not. */
  pendingRuns: number;
  pendingDeliveries: number;
  pendingSystemEvents: number;
}

/**
 * The truth: what was answered 2xx is in here. Every write resolves only once it is on the disk (one commit may carry
 * many), or rejects with `JournalUnavailable` and has left nothing behind. Times are milliseconds since the epoch. Ids
 * that sort by time (UUIDv7) keep a large journal as fast as an empty one.
 */
export interface Journal {
  /** Commits the event, its actions' runs and entries together, or recognises it as a repeat. */
  accept(event: NewEvent): Promise<AcceptResult>;
  /**
   * The first receipt under an unexpired key, if there is one, without committing anything; `conflict` where the
   * fingerprint is another.
   */
  findReplay(scope: string, key: string, fingerprint: string): Promise<AcceptResult | undefined>;

  /**
   * Takes up to `limit` runs that are due, oldest first, never two of one session, and of each mapping as many as its
   * limits let through; each counts one attempt.
   */
  claimRuns(limit: number, now: number, limits?: RunLimits): Promise<Run[]>;
  /**
   * Ends a run that replied, and lets the next of its session start. The event is done when nothing of it is left. Like
   * every call that ends or retries a run or a delivery, it changes nothing where that one is not being carried out.
   */
  completeRun(runId: string, outcome: TurnOutcome): Promise<void>;
  /** Lets the run try again at `dueAt`; later ones of its session keep waiting behind it. */
  retryRun(runId: string, dueAt: number, error: string): Promise<void>;
  /** Gives back a run that was cut off: it is as if it had not been claimed. */
  releaseRun(runId: string): Promise<void>;
  /** Ends a run that failed for good: the event is dead once nothing of it is left, the next of its session starts. */
  buryRun(runId: string, failure: { finishedAt: number; error: string; entries: NewEntry[] }): Promise<void>;

  /** System events that no heartbeat has been given yet, oldest first; at most `limit` of them. Absent: all. */
  pendingSystemEvents(limit?: number): Promise<Entry[]>;
  /** Records a heartbeat's turn and consumes just the system events it was given. */
  completeHeartbeat(
    run: { id: string; startedAt: number; consumedSeqs: number[] },
    outcome: TurnOutcome,
  ): Promise<void>;
  /** Records that a heartbeat failed; its system events stay pending. */
  failHeartbeat(run: { id: string; startedAt: number; finishedAt: number; error: string }): Promise<void>;

  /** Takes up to `limit` deliveries that are due, oldest first, never two to one recipient; each counts one attempt. */
  claimDeliveries(limit: number, now: number): Promise<Delivery[]>;
  /** Remembers that so many parts were taken, and by whom, so that a retry goes on after them to the same recipient. */
  progressDelivery(id: string, partsSent: number, route?: Route): Promise<void>;
  retryDelivery(id: string, dueAt: number, error: string): Promise<void>;
  /** `sent` makes its route the one used last. */
  finishDelivery(id: string, end: DeliveryEnd): Promise<void>;
  /** The route used last, on any channel or on this one. */
  lastRoute(channel?: ChannelName): Promise<Route | undefined>;
  /** The earliest moment at which a claim may find something. Absent where nothing waits, but for the end of a run. */
  nextDueAt(limits?: RunLimits): Promise<number | undefined>;

  /** Turns of a session, oldest first, the newest `limit` of them: what its next turn is given as history. */
  history(sessionKey: string, limit: number): Promise<Entry[]>;

  listEvents(page: Page & { hook?: string; status?: EventStatus }): Promise<EventSummary[]>;
  getEvent(id: string): Promise<EventRecord | undefined>;
  listSessions(page: { limit: number }): Promise<SessionSummary[]>;
  /** Entries oldest first, after the cursor; none while all that a session has is runs unfinished, or failed for good. */
  getSession(
    key: string,
    page: { limit: number; after?: number },
  ): Promise<{ session: SessionSummary; entries: Entry[] } | undefined>;
  listRuns(page: Page & { state?: RunState }): Promise<Run[]>;
  listDeliveries(page: Page & { state?: DeliveryState }): Promise<Delivery[]>;

  /** Runs of hooks and deliveries that failed for good, the newest first. */
  listDeadLetters(page: Page): Promise<DeadLetter[]>;
  /**
   * Gives a dead letter its tries anew: it is due at `now`, behind what its session or recipient has under way, and its
   * event is accepted again. A delivery goes on after the parts that were taken. False where there is no such one.
   */
  retryDeadLetter(id: string, now: number): Promise<boolean>;
  /** Marks a dead letter as dropped; with the last of them its event is done. False where there is no such one. */
  dropDeadLetter(id: string): Promise<boolean>;

  stats(): Promise<JournalStats>;
  /** Rejects with `JournalUnavailable` where a commit would. */
  probe(): Promise<void>;
  /**
   * Deletes a small part of what need not be kept: finished events with all that came of them, heartbeats, sessions
   * without entries, idempotency keys that have expired; space is given back. Nothing unfinished goes, no pending system
   * event, and no key whose event is unfinished. True: there may be more to delete.
   */
  sweep(retention: Retention): Promise<boolean>;
  close(): Promise<void>;
}
