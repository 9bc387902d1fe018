import type { Bounded } from "../boundary/boundary.ts";
import type { NodeRole } from "../config/types.ts";
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

/* What the journal stores. Times are milliseconds since the epoch. */

/** A request as it is stored: credentials are already removed from `headers` and `query`. */
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
  /** snake_case, as in the response. */
  code: string;
  message: string;
  /** For the operator only, such as the stack of a transform. */
  detail?: string;
}

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
}

export interface Entry extends NewEntry {
  /** Grows with time across all sessions: the cursor. */
  seq: number;
}

/** An accepted action. A wake is done with its commit, an agent action gets a run. */
export type NewAction =
  | { action: Extract<HookAction, { kind: "wake" }>; entry: NewEntry }
  | {
      action: AgentAction;
      runId: string;
      /** Later actions with the same key join this run. */
      window?: CoalesceWindow;
      /** It joins a waiting run instead of getting one. */
      joins?: true;
    };

export interface CoalesceWindow {
  /** Unique across mappings. */
  key: string;
  /** When the run starts. */
  closesAt: number;
}

export interface RunLimit {
  /** How many runs of the mapping may be running at once. */
  concurrency?: number;
  /** At most `max` runs start within `perMs` milliseconds. */
  rate?: { max: number; perMs: number };
}

/** By mapping id. */
export type RunLimits = ReadonlyMap<string, RunLimit>;

export interface Idempotency {
  /** Credential and hook name. */
  scope: string;
  /** One key for the event, or with `perAction` one per action in the same order. An empty key is ignored. */
  keys: string[];
  perAction: boolean;
  /** SHA-256 of the content. */
  fingerprint: string;
  /** Same key with different content: `conflict` instead of the first receipt. */
  conflictOnOtherContent: boolean;
  expiresAt: number;
}

export interface NewEvent {
  id: string;
  hook: string;
  mapping?: string;
  /** The event's name: `pull_request.opened`. */
  event?: string;
  /** accepted · skipped (no actions) · rejected · failed (no actions, with `failure`). */
  status: Extract<EventStatus, "accepted" | "skipped" | "rejected" | "failed">;
  /** Why it is skipped. */
  reason?: string;
  receivedAt: number;
  /** Id of the event that an operator replayed with this one. */
  replayOf?: string;
  /** Name of the credential that let the request in, such as `token:default`. */
  credential?: string;
  /** W3C trace context of the request. */
  traceparent?: string;
  request: StoredRequest;
  actions: NewAction[];
  /** Ignored if the event is rejected or failed: its keys stay free for another try. */
  idempotency?: Idempotency;
  warnings: string[];
  log: LogLine[];
  took?: Took;
  failure?: EventFailure;
}

/** How long the steps before the commit took, in milliseconds. What did not happen is absent. */
export interface Took {
  /** Reading and parsing the body. */
  receiveMs?: number;
  /** Checking the credential. */
  verifyMs?: number;
  /** The mapping as a whole. */
  mappingMs?: number;
  /** Its transform. */
  transformMs?: number;
}

export type AcceptResult =
  | { kind: "committed"; receipt: Receipt }
  /** The key is known: the first receipt, with `replayed` true. */
  | { kind: "replayed"; receipt: Receipt }
  | { kind: "conflict" };

/**
 * Proves that a run or delivery is still claimed by the caller: once the claim is lost and another node has claimed it, the
 * token is outdated.
 */
export interface Claim {
  id: string;
  token: number;
}

export interface Lease {
  name: string;
  /** Outdated once another node has acquired the lease. */
  token: number;
}

export interface Run {
  id: string;
  kind: "hook" | "heartbeat";
  eventId?: string;
  hook?: string;
  sessionKey: string;
  /** Absent on heartbeats. */
  action?: AgentAction;
  /** What later events added to the action's message, in order. Only on claimed runs and in an event's record. */
  joined?: { messages: string[]; leftOut: number };
  state: RunState;
  /** Why it is held. */
  holdReason?: string;
  /** Includes the current one while running. */
  attempts: number;
  createdAt: number;
  dueAt: number;
  startedAt?: number;
  finishedAt?: number;
  reply?: string;
  model?: string;
  usage?: { inputTokens?: number; outputTokens?: number };
  /** In the currency of the configured prices; absent if the model has none. */
  cost?: number;
  warnings: string[];
  error?: string;
}

/** Heartbeats are recorded, never claimed: a claimed run always has an action. */
export interface ClaimedRun extends Run, Claim {
  action: AgentAction;
  /** An operator released it: it must not be held again. */
  released?: boolean;
}

/** Answers runs that need no waiting. */
export interface RunAnswerer {
  /** The outcome of a run of the mapping; undefined: the run must be claimed. It must not throw. */
  answer(run: ClaimedRun, mapping: string): TurnOutcome | undefined;
  /** Called after the commit. */
  answered(run: ClaimedRun): void;
}

/** The tokens and cost of the finished runs of a hook, mapping and model. */
export interface Spend {
  /** Empty for heartbeats. */
  hook: string;
  /** Empty for heartbeats and the service's own hooks. */
  mapping: string;
  /** Empty if the agent named none. */
  model: string;
  /** Runs whose agent reported its tokens. */
  runs: number;
  inputTokens: number;
  outputTokens: number;
  cost: number;
}

export interface NewDelivery {
  id: string;
  runId: string;
  eventId?: string;
  channel: ChannelName;
  to?: string;
  text: string;
  /** The session whose reply it is, if it goes to the place of the event. Its route is not the one used last. */
  conversation?: string;
  /** It replaces the conversation's earlier message there. */
  update?: boolean;
}

export interface Delivery extends NewDelivery {
  state: DeliveryState;
  attempts: number;
  createdAt: number;
  dueAt: number;
  /** Parts of the split text that were sent. */
  partsSent: number;
  /** Where it was sent, with `last` resolved. */
  route?: Route;
  sentAt?: number;
  error?: string;
}

export interface ClaimedDelivery extends Delivery, Claim {
  /** With `update`: the message that it replaces, as the channel named it. */
  replaces?: string;
}

export interface Route {
  channel: ChannelName;
  to: string;
}

export interface DeliveryProgress {
  partsSent: number;
  route?: Route;
  /** Of the last part that was sent, as the channel gave it. The first of a delivery is the one that `update` replaces. */
  messageId?: string;
}

/** `skipped`: there was no recipient; this is not a failure. */
export type DeliveryEnd = Partial<DeliveryProgress> & { at: number; error?: string } & (
    | { state: "sent"; route: Route }
    | { state: "failed" | "skipped"; error: string }
  );

/** A run or delivery that failed permanently, until an operator retries or drops it. */
export interface DeadLetter {
  /** The id of the run or the delivery. */
  id: string;
  kind: "run" | "delivery";
  eventId?: string;
  hook?: string;
  error: string;
  attempts: number;
  /** When it failed for the last time. */
  at: number;
}

export interface EventSummary extends Pick<
  NewEvent,
  "id" | "hook" | "mapping" | "event" | "reason" | "receivedAt" | "replayOf" | "failure"
> {
  status: EventStatus;
  actions: ActionReceipt[];
  /** How many of its runs and deliveries are unfinished, and how many failed permanently. */
  open: number;
  lost: number;
  /** If its actions have one run in all: that run, and the newest of its deliveries. */
  run?: Pick<Run, "id" | "state" | "attempts" | "startedAt" | "finishedAt" | "error" | "holdReason">;
  delivery?: Pick<Delivery, "id" | "state" | "channel" | "to" | "route" | "attempts" | "sentAt" | "error">;
}

export interface EventRecord
  extends EventSummary, Pick<NewEvent, "credential" | "traceparent" | "request" | "warnings" | "log" | "took"> {
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

/** The result of a finished turn; one commit stores all of it. */
export interface TurnOutcome extends Pick<Run, "model" | "usage" | "cost" | "warnings"> {
  finishedAt: number;
  reply: string;
  /** Of the turn itself, and the summary for the main session. */
  entries: NewEntry[];
  deliveries: NewDelivery[];
}

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

/** What a commit may have made due; `lease`: a node has released a named lease. */
export type NewWork = "run" | "delivery" | "heartbeat" | "lease";

/** What a commit changed. The reader takes the rest from the journal. */
export type Change =
  /** It was recorded, or something has become of it: a run, a delivery, its status. */
  | { kind: "event"; id: string }
  /** A run or delivery was claimed, has ended, waits for another attempt, is held or released. */
  | { kind: "run"; id: string; eventId?: string; state: RunState }
  | { kind: "delivery"; id: string; eventId?: string; state: DeliveryState }
  /** A run or delivery became a dead letter, or it was retried or dropped. */
  | { kind: "dead-letter"; id: string; eventId?: string; isDead: boolean }
  /** Entries were added to it. */
  | { kind: "session"; key: string };
