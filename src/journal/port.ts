import type {
  ActionReceipt,
  AgentAction,
  ChannelName,
  EventStatus,
  HookAction,
  LogLine,
  Receipt,
} from "../types.ts";

/** A request as it is kept: credentials are gone from `headers` and `query` before it gets here. */
export interface StoredRequest {
  method: string;
  path: string;
  query: Record<string, string>;
  headers: Record<string, string>;
  contentType: string;
  body: Buffer;
  client: string;
}

export interface EventFailure {
  /** snake_case, as the caller heard it. */
  code: string;
  message: string;
  /** For the operator only: a transform's stack, say. */
  detail?: string;
}

/** A turn of a session, or a system event of the main one. */
export interface NewEntry {
  sessionKey: string;
  role: "system" | "user" | "assistant";
  /** As the agent sees it. */
  text: string;
  /** Milliseconds since the epoch. */
  at: number;
  eventId?: string;
  runId?: string;
  /** A system event that no heartbeat has been given yet. */
  pending?: boolean;
  /** With `pending`: asks for a heartbeat at once, also after a restart. */
  urgent?: boolean;
}

export interface Entry extends NewEntry {
  /** Grows by time across all sessions: the cursor. */
  seq: number;
}

/** An accepted action, with what its own kind needs. A wake is carried out by its commit, an agent action by a run. */
export type NewAction =
  | { action: Extract<HookAction, { kind: "wake" }>; entry: NewEntry }
  | { action: AgentAction; runId: string };

export interface Idempotency {
  /** Credential and hook name. */
  scope: string;
  /** One for the event, or (with `perAction`) one an action, in their order. */
  keys: string[];
  perAction: boolean;
  /** SHA-256 of the content. */
  fingerprint: string;
  /** Same key, other content: `conflict` instead of the first answer. */
  conflictOnOtherContent: boolean;
  /** Milliseconds since the epoch. */
  expiresAt: number;
}

export interface NewEvent {
  id: string;
  hook: string;
  mapping?: string;
  /** accepted · skipped (no actions) · rejected · failed (no actions, with `failure`). */
  status: Extract<EventStatus, "accepted" | "skipped" | "rejected" | "failed">;
  receivedAt: number;
  request: StoredRequest;
  actions: NewAction[];
  idempotency?: Idempotency;
  warnings: string[];
  log: LogLine[];
  failure?: EventFailure;
}

export type AcceptResult =
  | { kind: "committed"; receipt: Receipt }
  /** The key is known: the first receipt, with `replayed` true. */
  | { kind: "replayed"; receipt: Receipt }
  | { kind: "conflict" };

/** ready: may start once due · queued: behind another of its session · running · done · dead. */
export type RunState = "ready" | "queued" | "running" | "done" | "dead";

export interface Run {
  id: string;
  kind: "hook" | "heartbeat";
  eventId?: string;
  hook?: string;
  sessionKey: string;
  /** Absent on heartbeats. */
  action?: AgentAction;
  state: RunState;
  /** Tries so far, this one included while running. */
  attempts: number;
  createdAt: number;
  dueAt: number;
  startedAt?: number;
  finishedAt?: number;
  reply?: string;
  model?: string;
  usage?: { inputTokens?: number; outputTokens?: number };
  warnings: string[];
  error?: string;
}

export interface NewDelivery {
  id: string;
  runId: string;
  eventId?: string;
  channel: ChannelName | "last";
  to?: string;
  text: string;
}

/** pending: ready or waiting for its next try · queued: behind another to the same recipient. */
export type DeliveryState = "pending" | "queued" | "sending" | "sent" | "failed";

export interface Delivery extends NewDelivery {
  state: DeliveryState;
  attempts: number;
  createdAt: number;
  dueAt: number;
  /** Parts of the split text that the service has taken. */
  partsSent: number;
  /** Where it went, `last` resolved. */
  route?: Route;
  sentAt?: number;
  error?: string;
}

export interface Route {
  channel: ChannelName;
  to: string;
}

export interface EventSummary {
  id: string;
  hook: string;
  mapping?: string;
  receivedAt: number;
  status: EventStatus;
  actions: ActionReceipt[];
}

export interface EventRecord extends EventSummary {
  request: StoredRequest;
  warnings: string[];
  log: LogLine[];
  failure?: EventFailure;
  runs: Run[];
  entries: Entry[];
  deliveries: Delivery[];
}

export interface SessionSummary {
  key: string;
  createdAt: number;
  updatedAt: number;
  entries: number;
}

export interface Page {
  /** At most this many. */
  limit: number;
  /** Only what is older than the item with this id. */
  before?: string;
}

/** What came of a finished turn; all of it lands in one commit. */
export interface TurnOutcome {
  finishedAt: number;
  reply: string;
  model?: string;
  usage?: Run["usage"];
  warnings: string[];
  /** The turn's own entries and the summary in the main session. */
  entries: NewEntry[];
  deliveries: NewDelivery[];
}

export interface JournalStats {
  events: number;
  /** Runs that are not finished, and deliveries that are not. */
  pendingRuns: number;
  pendingDeliveries: number;
  pendingSystemEvents: number;
}

/** The journal could not commit: nothing of what was asked has happened. */
export class JournalUnavailable extends Error {
  override name = "JournalUnavailable";
}

/**
 * The truth: what was answered 2xx is in here. Every write resolves only once it is on the disk (one commit may carry
 * many), or rejects with `JournalUnavailable` and has left nothing behind. Times are milliseconds since the epoch.
 */
export interface Journal {
  /** Commits the event, its actions' runs and entries together, or recognises it as a repeat. */
  accept(event: NewEvent): Promise<AcceptResult>;
  /** The first receipt under an unexpired key, if there is one, without committing anything. */
  findReplay(scope: string, key: string, fingerprint: string): Promise<AcceptResult | undefined>;

  /** Takes up to `limit` runs that are due, oldest first, never two of one session; each counts one attempt. */
  claimRuns(limit: number, now: number): Promise<Run[]>;
  /** Ends a run that replied, and lets the next of its session start. The event is done when nothing of it is left. */
  completeRun(runId: string, outcome: TurnOutcome): Promise<void>;
  /** Lets the run try again at `dueAt`; later ones of its session keep waiting behind it. */
  retryRun(runId: string, dueAt: number, error: string): Promise<void>;
  /** Ends a run that failed for good: the event is dead, the next of its session starts. */
  buryRun(runId: string, failure: { finishedAt: number; error: string; entries: NewEntry[] }): Promise<void>;

  /** System events that no heartbeat has been given yet, oldest first. */
  pendingSystemEvents(): Promise<Entry[]>;
  /** Records a heartbeat's turn and consumes just the system events it was given. */
  completeHeartbeat(
    run: { id: string; startedAt: number; consumedSeqs: number[] },
    outcome: TurnOutcome,
  ): Promise<void>;
  /** Records that a heartbeat failed; its system events stay pending. */
  failHeartbeat(run: { id: string; startedAt: number; finishedAt: number; error: string }): Promise<void>;

  /** Takes up to `limit` deliveries that are due, oldest first, never two to one recipient; each counts one attempt. */
  claimDeliveries(limit: number, now: number): Promise<Delivery[]>;
  /** Remembers that so many parts were taken, so that a retry goes on after them. */
  progressDelivery(id: string, partsSent: number): Promise<void>;
  retryDelivery(id: string, dueAt: number, error: string): Promise<void>;
  /** `sent` makes its route the one used last. */
  finishDelivery(
    id: string,
    end:
      | { state: "sent"; at: number; route: Route; partsSent: number }
      | { state: "failed"; at: number; route?: Route; error: string },
  ): Promise<void>;
  /** The route used last, on any channel or on this one. */
  lastRoute(channel?: ChannelName): Promise<Route | undefined>;
  /** The earliest moment at which a claim may find something, if anything waits. */
  nextDueAt(): Promise<number | undefined>;

  /** Turns of a session, oldest first, the newest `limit` of them: what its next turn is given as history. */
  history(sessionKey: string, limit: number): Promise<Entry[]>;

  listEvents(page: Page & { hook?: string; status?: EventStatus }): Promise<EventSummary[]>;
  getEvent(id: string): Promise<EventRecord | undefined>;
  listSessions(page: { limit: number }): Promise<SessionSummary[]>;
  /** Entries oldest first, after the cursor. */
  getSession(
    key: string,
    page: { limit: number; after?: number },
  ): Promise<{ session: SessionSummary; entries: Entry[] } | undefined>;
  listRuns(page: Page & { state?: RunState }): Promise<Run[]>;
  listDeliveries(page: Page & { state?: DeliveryState }): Promise<Delivery[]>;
  stats(): Promise<JournalStats>;
  /** Rejects with `JournalUnavailable` where a commit would. */
  probe(): Promise<void>;
  /** Forgets idempotency keys that have expired. */
  sweep(now: number): Promise<void>;
  close(): Promise<void>;
}
