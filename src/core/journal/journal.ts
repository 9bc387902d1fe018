import type { Publications } from "./publications.ts";
import type { ApprovalState, ChannelName, DeliveryState, EventStatus, KeptChange, RunState } from "../types.ts";
import type {
  Approval,
  ApprovalUse,
  AskedApproval,
  Decided,
  DrawnButton,
  NewDecision,
  PressedButton,
} from "./records/approval.ts";
import type {
  ClaimedDelivery,
  DeadLetter,
  Delivery,
  DeliveryEnd,
  DeliveryProgress,
  Route,
  SentMessage,
  SessionThread,
} from "./records/delivery.ts";
import type {
  AcceptResult,
  Answer,
  EventRecord,
  EventSummary,
  MappingCount,
  NewEvent,
  StateRow,
} from "./records/event.ts";
import type { Change, Lease, NewNote, NewWork, NodeInfo, NodeRecord, Note, Claim } from "./records/node.ts";
import type {
  ClaimedRun,
  GiveBack,
  HeldFilter,
  Pause,
  Questions,
  Run,
  RunFailure,
  RunLimits,
  Spend,
  TurnOutcome,
} from "./records/run.ts";
import type { EventSearch, SearchChunk } from "./records/event-search.ts";
import type { Entry, NewEntry, SessionSummary, Turn } from "./records/session.ts";
import type { Survival, Suspect } from "./records/suspect.ts";
import type { Step } from "./records/step.ts";
import type { Tally } from "./records/tally.ts";

export type * from "./records/failed-attempt.ts";
export type * from "./records/approval.ts";
export type * from "./records/delivery.ts";
export type * from "./records/event.ts";
export type * from "./records/node.ts";
export type * from "./records/run.ts";
export type * from "./records/event-search.ts";
export type * from "./records/session.ts";
export type * from "./records/step.ts";
export type * from "./records/suspect.ts";
export type * from "./records/tally.ts";
export type * from "./publications.ts";

export interface Page {
  limit: number;
  /** Only what is older than the item with this id. */
  before?: string;
  /** Only what is of this time or later, and before this time: the times of the ids, in milliseconds since the epoch. */
  from?: number;
  to?: number;
}

/** undefined: any. */
export interface RunFilter {
  state?: RunState | RunState[];
  hook?: string;
  mapping?: string;
  sessionKey?: string;
  /** The error group of those that failed. */
  group?: string;
}

export interface DeliveryFilter {
  state?: DeliveryState | DeliveryState[];
  channel?: string;
  /** The error group of those that failed. */
  group?: string;
}

/** The time of a dead letter is that of its failure. */
export interface DeadLetterFilter {
  kind?: DeadLetter["kind"];
  hook?: string;
  group?: string;
  failedFrom?: number;
  failedTo?: number;
}

export interface FailedFilter extends Pick<Page, "from" | "to"> {
  hook?: string;
  mapping?: string;
  group?: string;
}

export interface Retention {
  /** Milliseconds since the epoch, as all times are. */
  now: number;
  /** Events and runs that were received or finished before this time may be deleted. */
  keepFrom: number;
  /** While the journal is larger than this, the oldest may be deleted at any age. */
  maxBytes?: number;
  /** Ids of messages that were sent before this time may be forgotten. */
  keepMessagesFrom?: number;
  /** While there are more idempotency keys than this, the oldest may be deleted before they expire. */
  maxKeys?: number;
}

/** By state. */
export interface WorkCounts {
  runs: RunCounts;
  deliveries: DeliveryCounts;
}

interface RunCounts {
  ready: number;
  queued: number;
  running: number;
  held: number;
  dead: number;
}

interface DeliveryCounts {
  pending: number;
  queued: number;
  sending: number;
  failed: number;
}

export interface JournalStats {
  events: number;
  /** Unfinished runs and deliveries. */
  pendingRuns: number;
  pendingDeliveries: number;
  pendingSystemEvents: number;
}

/**
 * The single source of truth: everything that was answered 2xx is in here. A write resolves once it is on disk (one
 * commit may carry many writes), or rejects with `JournalUnavailable` and leaves nothing behind. Times are milliseconds
 * since the epoch. Ids that sort by time (UUIDv7) keep a large journal as fast as an empty one.
 *
 * Several nodes (processes) can share one journal. A claimed run or delivery belongs to its node until the node's lease
 * ends. Each call that ends or retries it passes the claim, and gives false, changing nothing, if the claim is lost:
 * the caller drops its result. A store with a single owner grants every lease.
 */
export interface Journal extends JournalReads, JournalWrites {
  /** Commits the event with the runs and entries of its actions, or recognizes it as a repeat. */
  accept(event: NewEvent): Promise<AcceptResult>;
  /**
   * The first receipt under an unexpired key, if there is one, without a commit; `conflict` if the fingerprint differs.
   */
  findReplay(scope: string, key: string, fingerprint: string): Promise<AcceptResult | undefined>;

  /**
   * Claims up to `limit` runs that are due, never two of one session, and of each mapping only as many as its limits allow.
   * Each is the oldest of the mapping with the fewest running runs, on all nodes, then of the one that this process served
   * longest ago, then of all. Each claim counts one attempt. A run or delivery during whose last three attempts the process ended is
   * a suspect, which is left out: `claimSuspect` claims it.
   */
  claimRuns(limit: number, now: number, limits?: RunLimits): Promise<ClaimedRun[]>;
  /** Ends a run that replied; the next of its session can start. The event is done once nothing of it is left. */
  completeRun(claim: Claim, outcome: TurnOutcome): Promise<boolean>;
  /** Ends a run that failed permanently; the next of its session can start. The event has failed once nothing of it is left. */
  deadLetterRun(claim: Claim, failure: RunFailure): Promise<boolean>;

  /** Claims up to `limit` deliveries that are due, oldest first, never two to one recipient. Each claim counts one attempt. */
  claimDeliveries(limit: number, now: number): Promise<ClaimedDelivery[]>;
  /**
   * Claims the suspect that has been one for the longest time, if one is due. The caller executes nothing else meanwhile, so
   * the journal can compare how long the process lives with it and without it.
   */
  claimSuspect(now: number, limits?: RunLimits): Promise<Suspect | undefined>;
  /** `sent` makes its route the one used last, if it says by whom. */
  finishDelivery(claim: Claim, end: DeliveryEnd): Promise<boolean>;
  /** The earliest time at which a claim may find something. Undefined if nothing is waiting for a time. */
  nextDueAt(limits?: RunLimits): Promise<number | undefined>;
  /** The same of suspects. */
  nextSuspectAt(limits?: RunLimits): Promise<number | undefined>;

  /**
   * Extends the lease of this node by `forMs` from now, by the store's own clock. Returns the work of nodes whose lease
   * has ended to the queue, attempts and interruptions counted, and says how much that was; if its own had ended, only at the next call. Others
   * are shown what `describe` says of it.
   */
  renewNode(forMs: number, describe?: () => NodeInfo): Promise<{ runs: number; deliveries: number }>;
  /**
   * Whether this node's lease has lasted since a moment of `performance.now()`, and will for a while: it is extended if little
   * is left. If not, what was claimed before that moment may be another node's.
   */
  keepLease(since: number): Promise<boolean>;
  /** The processes that share the journal, also those that ended a moment ago. Empty if it has a single owner. */
  nodes(): Promise<NodeRecord[]>;
  /**
   * Acquires a named lease, which lasts as long as this node's own. Gives the same lease again to the node that holds
   * it; undefined while another node does.
   */
  lease(name: string): Promise<Lease | undefined>;
  releaseLease(lease: Lease): Promise<void>;
  /** Calls the listener after each commit that may have made work due, until the returned function is called. */
  watch(listener: (work: ReadonlySet<NewWork>) => void): () => void;
  /**
   * Calls the listener after each commit that changed something, until the returned function is called. The changes
   * can be read at once. Where several nodes share a store, it gets the changes of all nodes: those of other nodes may come
   * late and together, but none is lost.
   */
  watchChanges(listener: (changes: readonly Change[]) => void): () => void;
  /**
   * Looks through the next events of a search, newest first, after the one with the id `before`; away from the requests that
   * come meanwhile. A search is as many of these calls as its caller wants.
   */
  searchEvents(search: EventSearch, before?: string): Promise<SearchChunk>;
  /** How many events of a time or later each mapping has, by status. */
  countByMapping(from: number): Promise<MappingCount[]>;

  /** Published events and their subscriptions. */
  publications: Publications;

  /** Signs a text with a random key that was made with the store, so that all its nodes have it and nobody else. */
  sign(text: string): Uint8Array;
  stats(): Promise<JournalStats>;
  /** Rejects with `JournalUnavailable` if a commit would. */
  probe(): Promise<void>;
  /**
   * Deletes a small batch of what need not be kept: finished events with everything that belongs to them, heartbeats,
   * sessions without entries, expired idempotency keys. Keeps everything unfinished, pending system events, and the
   * keys of unfinished events. True if there may be more to delete.
   */
  sweep(retention: Retention): Promise<boolean>;
  /** The bytes that `maxBytes` limits; undefined in a store that has no such limit. */
  usedBytes(): Promise<number | undefined>;
  /** Ends this node's lease. */
  close(): Promise<void>;
}

/** Writes with the same statements in every store. */
export interface JournalWrites {
  /** Replaces or removes notes, all of them in one commit. */
  writeNotes(notes: NewNote[]): Promise<void>;
  /** Adds to counts, in one commit. They are kept for eight days. */
  addTallies(tallies: Tally[]): Promise<void>;
  /** Records what the sender of an event is answered, and gives it: the first one counts. Null: the usual answer. */
  recordAnswer(eventId: string, answer: Answer | null): Promise<Answer | null>;

  /**
   * Records steps of a claimed run and what its new answers used. An answer or a result sets its attempts to 1. A recorded
   * answer never changes; a call or context is replaced by its result. With `uses`, approvals become used or withdrawn. False,
   * and nothing is recorded, if one of them is not approved, or if a call that starts has a result.
   */
  recordSteps(claim: Claim, steps: Step[], uses?: ApprovalUse[]): Promise<boolean>;
  /**
   * Keeps the result of a call whose claim was lost. While nothing else is known of the call, it is the call's result, and an
   * open question about its outcome is withdrawn. False if the call was not sent like this.
   */
  settleCall(runId: string, result: Step): Promise<boolean>;
  /** Keeps a change under its keys; those that know an earlier commit of it remember that. */
  keepChange(keys: readonly string[], change: Omit<KeptChange, "earlier">): Promise<void>;
  /** Keeps a message that a call of a session has sent. */
  keepMessage(message: SentMessage & { channel: ChannelName; messageId: string }): Promise<void>;
  /** Lets the run try again at `notBefore`, in its old place in the order; later runs of its session keep waiting behind it. */
  retryRun(claim: Claim, notBefore: number, error: string, warnings?: readonly string[]): Promise<boolean>;
  /** The same, and the attempt does not count. */
  giveBackRun(claim: Claim, notBefore: number, reason: GiveBack): Promise<boolean>;
  /** Undoes the claim of an interrupted run, its attempt included. */
  releaseRun(claim: Claim): Promise<boolean>;
  /**
   * Undoes the claim, its attempt included. The run is not claimed until it is released; its session waits behind it. With
   * `questions`, the same commit asks them, and they alone release it: the run is ready at once if one of them has ended
   * already, or is not opened.
   */
  holdRun(claim: Claim, reason: string, questions?: Questions): Promise<boolean>;
  /** Lets the runs that wait for a provider of models try it again now. Gives how many. */
  tryAgain(provider: string): Promise<number>;
  /** Lets held runs start that do not wait for a person; `forGood`: their claims say `released`. Gives how many. */
  releaseHeld(filter?: HeldFilter & { forGood?: boolean }): Promise<number>;
  /**
   * Ends a hook's unfinished run for good, in whatever state it is: it is canceled, and the next of its session can start. Its
   * claim is void. A call that was sent without a result becomes unknown. False if the run has ended, or is unknown.
   */
  cancelRun(id: string, end: { finishedAt: number; error: string; entries: NewEntry[] }): Promise<boolean>;
  /** Leaves a mapping's runs out of all claims, and lets its wakes start no heartbeat. False if it was paused before. */
  pauseMapping(mapping: string, at: number): Promise<boolean>;
  /** Its runs start in their order. False if it was not paused. */
  resumeMapping(mapping: string): Promise<boolean>;

  /** Codes for questions. No other question has one of them for 30 days. */
  reserveCodes(count: number): Promise<string[]>;
  /** Keeps the buttons of a question that is sent. Those of an earlier attempt, which may be there, count too. */
  drawButtons(approvalId: string, buttons: DrawnButton[]): Promise<void>;
  /** Adds a message to those of a question: an attempt had sent it, and its end was lost. */
  keepAsked(approvalId: string, messageId: string): Promise<void>;
  /** Decides an open question, and lets its run go on. Undefined if there is none with this id. */
  decideApproval(id: string, decision: NewDecision): Promise<Decided | undefined>;
  /** Ends the open questions whose time is over, as a denial does. Gives how many. */
  expireApprovals(now: number): Promise<number>;
  /** Records a heartbeat's turn and consumes the system events it was given. False if the lease is lost. */
  completeHeartbeat(
    run: { id: string; startedAt: number; consumedSeqs: number[]; lease: Lease },
    outcome: TurnOutcome,
  ): Promise<boolean>;
  /** Records that a heartbeat failed; its system events stay pending. */
  failHeartbeat(run: { id: string; startedAt: number; finishedAt: number; error: string }): Promise<void>;

  /** Records how many parts were sent, and where, so that a retry continues after them with the same recipient. */
  progressDelivery(claim: Claim, progress: DeliveryProgress): Promise<boolean>;
  retryDelivery(claim: Claim, notBefore: number, error: string): Promise<boolean>;
  /** The same, and the attempt does not count. */
  giveBackDelivery(claim: Claim, notBefore: number, error: string): Promise<boolean>;

  /**
   * Requeues a dead letter with all its attempts: it is due at `now`, behind what its session or recipient has in
   * progress, and its event is accepted again. A delivery continues after the parts that were sent. False if unknown.
   */
  retryDeadLetter(id: string, now: number): Promise<boolean>;
  /** Marks a dead letter, or a failed request, as canceled; with the last of them its event is canceled. False if unknown. */
  dropDeadLetter(id: string): Promise<boolean>;
}

/** Reads with the same statements in every store. */
export interface JournalReads {
  /** Values of a state under these keys. Keys without a value are left out. */
  readState(name: string, keys: string[]): Promise<StateRow[]>;
  /** The notes of a kind that have not expired, in the order of their keys. */
  listNotes(kind: string): Promise<Note[]>;
  /** Counts since a time, added up over all mappings and over `stepMs`, oldest first. */
  listTallies(from: number, stepMs: number): Promise<Omit<Tally, "mapping">[]>;
  /** How many events were received since a time, by status. */
  countSince(from: number): Promise<Record<EventStatus, number>>;
  /** The recorded answer, which is kept as long as the event. */
  findAnswer(eventId: string): Promise<Answer | null | undefined>;
  /** How many unfinished runs each sender has, as `senderOf` names it. Takes longer the more there are. */
  countSenders(): Promise<Map<string, number>>;
  /** Whether the run is still claimed like this. */
  isClaimed(claim: Claim): Promise<boolean>;
  /** The recorded steps of a run, in order. They are kept as long as the run. */
  listSteps(runId: string): Promise<Step[]>;
  /** Which claims are lost. A node can hold both kinds for one run. */
  findLost(claims: Claim[]): Promise<Claim[]>;
  listPauses(): Promise<Pause[]>;
  /** How long processes have lived with a suspect and without it, since its first interruption. */
  readSurvival(suspect: string, since: number): Promise<Survival>;
  /** How often a process ended since a time, without a suspect that was executed alone. */
  countRestarts(since: number): Promise<number>;
  /**
   * Usage of runs in hours from `since` to before `until`, in all or of one session: by day, the most expensive first.
   */
  spend(filter: { since: number; until?: number; sessionKey?: string }): Promise<Spend[]>;
  /** Newest first. */
  listApprovals(
    page: Page & { state?: ApprovalState | ApprovalState[]; runId?: string; eventId?: string },
  ): Promise<Approval[]>;
  getApproval(id: string): Promise<Approval | undefined>;
  /** The last question with this code that was asked in this place, once it was sent there. It may have ended. */
  findAsked(code: string, channel: ChannelName, to: string): Promise<AskedApproval | undefined>;
  /** A question by its id, if it is asked by messages. It may have ended. */
  getAsked(id: string): Promise<AskedApproval | undefined>;
  /** A button by the hash of its value, with its question. It may have ended. */
  findPressed(hash: string): Promise<PressedButton | undefined>;
  /** System events that no heartbeat has consumed yet, oldest first. */
  pendingSystemEvents(limit?: number): Promise<Entry[]>;
  /**
   * Whether a delivery sent the message with this id since a time, through this channel or through any. Undefined if no such
   * id is known, but a delivery is being sent.
   */
  wasSent(messageId: string, since: number, channel?: ChannelName): Promise<boolean | undefined>;
  /** The runs whose answers to an addressee on a channel were created since a time. */
  listAnswers(channel: ChannelName, addressee: string, since: number): Promise<string[]>;
  /** Whether a session that is kept has sent a message to this recipient, which can be a thread. Not of the main session. */
  hasSpoken(channel: ChannelName, to: string): Promise<boolean>;
  /** The message with this id that a session which is kept has sent on a channel. Not of the main session. */
  findSent(channel: ChannelName, messageId: string): Promise<SentMessage | undefined>;
  /** The thread that a session's replies to a recipient are in; undefined: none was opened. */
  findThread(sessionKey: string, channel: ChannelName, to: string): Promise<string | undefined>;
  /** The threads of a session, one for each recipient, the one used last at the end. */
  listThreads(sessionKey: string): Promise<SessionThread[]>;
  /** The newest change that is kept under one of these keys, while its session is. */
  findChange(channel: ChannelName, keys: string[]): Promise<KeptChange | undefined>;
  /** The route used last, on any channel or on this one. */
  lastRoute(channel?: ChannelName): Promise<Route | undefined>;
  /** The route used last of those that the operator wrote. */
  operatorRoute(): Promise<Route | undefined>;
  /** The newest `limit` turns of a session, oldest first. */
  history(sessionKey: string, limit: number): Promise<Turn[]>;
  /** The time of the first turn of a session after its last pause of this length. A slow answer is no pause. */
  sessionStart(sessionKey: string, idleAfterMs: number): Promise<number | undefined>;
  /** `prefix`: only events whose ids begin with it. `ids`: only these. */
  listEvents(
    page: Page & { prefix?: string; ids?: string[]; hook?: string; status?: EventStatus },
  ): Promise<EventSummary[]>;
  /** Requests whose transform failed, and that were neither dropped nor replayed with success. Newest first. */
  listFailedRequests(page: FailedFilter & { limit: number }): Promise<EventSummary[]>;
  /** Which of these events have sent a message, and which of these runs a call that changes something. */
  findEffects(ids: { events: string[]; runs: string[] }): Promise<{ events: Set<string>; runs: Set<string> }>;
  /** How many runs and deliveries are unfinished, or failed permanently. Counting ends at `max`, so that it takes as long in any journal. */
  countWork(max: number): Promise<WorkCounts>;
  getEvent(id: string): Promise<EventRecord | undefined>;
  listSessions(page: { limit: number }): Promise<SessionSummary[]>;
  /**
   * Entries oldest first: the first ones after a cursor, or the last ones before one. A session whose runs are all unfinished
   * or dead has none.
   */
  getSession(
    key: string,
    page: { limit: number; after?: number; before?: number },
  ): Promise<{ session: SessionSummary; entries: Entry[] } | undefined>;
  listRuns(page: Page & RunFilter): Promise<Run[]>;
  getRun(id: string): Promise<Run | undefined>;
  listDeliveries(page: Page & DeliveryFilter): Promise<Delivery[]>;
  /** Runs of hooks and deliveries that failed permanently, newest first. */
  listDeadLetters(page: Pick<Page, "limit" | "before"> & DeadLetterFilter): Promise<DeadLetter[]>;
}
