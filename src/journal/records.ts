import type {
  ActionReceipt,
  AgentAction,
  ChannelName,
  DeliveryState,
  EventStatus,
  HookAction,
  LogLine,
  Receipt,
  RunState,
} from "../types.ts";

/* What the journal keeps, and what it is given to keep. Times are milliseconds since the epoch. */

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

export const ENTRY_ROLES = ["system", "user", "assistant"] as const;
type EntryRole = (typeof ENTRY_ROLES)[number];

/** A turn of a session, or a system event of the main one. */
export interface NewEntry {
  sessionKey: string;
  role: EntryRole;
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
  | {
      action: AgentAction;
      runId: string;
      /** Later actions under its key join this one's run. */
      window?: CoalesceWindow;
      /** It joins a run that waits, and has none of its own. */
      joins?: true;
    };

export interface CoalesceWindow {
  /** Unique among all mappings. */
  key: string;
  /** When the run starts, in milliseconds since the epoch. */
  closesAt: number;
}

/** What a mapping's runs may take of the service. */
export interface RunLimit {
  /** How many run side by side. */
  concurrency?: number;
  /** At most `max` start in any `perMs` milliseconds. */
  rate?: { max: number; perMs: number };
}

/** By the mapping's id. */
export type RunLimits = ReadonlyMap<string, RunLimit>;

export interface Idempotency {
  /** Credential and hook name. */
  scope: string;
  /** One for the event, or (with `perAction`) one an action, in their order. An empty one is none. */
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
  /** Id of the event that it repeats at an operator's wish. */
  replayOf?: string;
  request: StoredRequest;
  actions: NewAction[];
  /** Not looked at where the event is rejected or failed: its keys stay free for another try. */
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

export const RUN_KINDS = ["hook", "heartbeat"] as const;
type RunKind = (typeof RUN_KINDS)[number];

export interface Run {
  id: string;
  kind: RunKind;
  eventId?: string;
  hook?: string;
  sessionKey: string;
  /** Absent on heartbeats. */
  action?: AgentAction;
  /** What later events added to the action's message, in their order. Known of a claimed run and in an event's record. */
  joined?: { messages: string[]; leftOut: number };
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

/** How a delivery ended for good. */
export type DeliveryEnd =
  | { state: "sent"; at: number; route: Route; partsSent: number }
  | { state: "failed"; at: number; route?: Route; error: string }
  /** There was nowhere to send it to; nothing is lost by that. */
  | { state: "skipped"; at: number; error: string };

/** What failed for good, until an operator retries or drops it. */
export interface DeadLetter {
  /** Of the run or the delivery. */
  id: string;
  kind: "run" | "delivery";
  eventId?: string;
  hook?: string;
  error: string;
  attempts: number;
  /** When it was given up. */
  at: number;
}

export interface EventSummary {
  id: string;
  hook: string;
  mapping?: string;
  receivedAt: number;
  /** Id of the event that it repeats at an operator's wish. */
  replayOf?: string;
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
