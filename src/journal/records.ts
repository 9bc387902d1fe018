import type { RequestedCall, TokenUsage } from "../agents/driver.ts";
import type { Bounded } from "../boundary/boundary.ts";
import type { FailedAttempt } from "./failed-attempt.ts";
import type { NodeRole } from "../config/types.ts";
import type {
  ActionReceipt,
  AgentAction,
  ApprovalKind,
  ApprovalState,
  ChannelName,
  Decision,
  DeliveryState,
  EventStatus,
  HookAction,
  LogLine,
  NewState,
  Publication,
  Receipt,
  RouteOrigin,
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
  /** The private sources that the text was made from. Absent: none. */
  sources?: string[];
}

/** By name. */
interface CallArguments {
  [name: string]: unknown;
}

/** As in an approval. */
interface Verdict {
  decision: Decision;
  by: string;
}

/** As in a step. */
interface LateResult {
  state: Step["state"];
  text?: string;
  finishedAt?: number;
}

/** What a run did: something it read for the agent, an answer of the model, or a call that the model asked for. */
export interface Step {
  /** Its place in the run, from 1. */
  n: number;
  kind: "context" | "model" | "call";
  /**
   * waiting: a person is asked · started: a call was sent, and its result is not recorded · unknown: nobody knows whether it
   * was executed.
   */
  state: "waiting" | "started" | "done" | "failed" | "unknown";
  startedAt: number;
  finishedAt?: number;
  /** The full name of a call or of what was read as context: `tickets.show`. */
  call?: string;
  /** The arguments that were sent. */
  arguments?: CallArguments;
  /** The model's id of the call. */
  toolCallId?: string;
  /** A call that changes something: the same for each time that it is sent. */
  callId?: string;
  /** Digest of the call and its arguments. */
  hash?: string;
  /** The person who decided, and what was decided. */
  decided?: Verdict;
  /** A result that came after a person had decided without it. */
  late?: LateResult;
  /** The title of a context, as in the prompt. */
  title?: string;
  /** What the model answered, or what a call or a context gave: an error if it failed. */
  text?: string;
  /** With `text`: the boundary in which the model sees it. */
  boundary?: Bounded["boundary"];
  /** An answer that asks for calls. Their steps follow it, in their order. */
  answer?: {
    /** The model, as the configuration names it. */
    asked?: string;
    calls: RequestedCall[];
    /** What the model's driver continues from: plain JSON. */
    content: unknown;
  };
  model?: string;
  usage?: TokenUsage;
  /** In the currency of the configured prices. */
  cost?: number;
  /** The private sources that the text was made from. */
  sources: string[];
}

export interface Entry extends NewEntry {
  /** Grows with time across all sessions: the cursor. */
  seq: number;
}

/** What a later turn is given of an entry. */
export type Turn = Pick<Entry, "role" | "text" | "boundary" | "sources" | "at">;

/** Committed with the event. */
export interface NewPublication extends Publication {
  /** The id of the event; with `forEach`, `<id>.<index>`. */
  id: string;
  at: number;
}

/** An accepted action. A wake is done with its commit, an agent action gets a run. */
export type NewAction = {
  /** What its commit tells subscribers. */
  publication?: NewPublication;
} & (
  | { action: Extract<HookAction, { kind: "none" }> }
  | { action: Extract<HookAction, { kind: "wake" }>; entry: NewEntry }
  | {
      action: AgentAction;
      runId: string;
      /** Later actions with the same key join this run. */
      window?: CoalesceWindow;
      /** It joins a waiting run instead of getting one. */
      joins?: true;
    }
);

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
  /** A further key of the event as a whole, which is asked first: of the bytes that its sender signed. */
  signature?: {
    key: string;
    expiresAt: number;
    /** The content is not signed: other content under the key is `forged`. */
    isContentUnsigned?: boolean;
  };
}

export interface NewEvent {
  id: string;
  hook: string;
  mapping?: string;
  /** The event's name: `pull_request.opened`. */
  event?: string;
  /** What it is about, in one line: `acme/shop#7: Fix the total`. */
  subject?: string;
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
  /**
   * Known keys are recognized unless the event is rejected or failed. Its own stay free unless it has an action, or sets
   * state.
   */
  idempotency?: Idempotency;
  /** What its transform read and set of the state of `mapping`. */
  state?: NewState;
  warnings: string[];
  log: LogLine[];
  timings?: Timings;
  failure?: EventFailure;
}

/** A key of a mapping's state that has a value. */
export interface StateRow {
  key: string;
  /** Another one after each set. */
  version: string;
  json: string;
}

/** What the service remembers for itself. */
export interface Note {
  key: string;
  json: string;
}

export interface NewNote extends Pick<Note, "key"> {
  kind: string;
  /** Absent: the note is removed. */
  json?: string;
  /** Default: never. */
  expiresAt?: number;
}

/** How long the steps before the commit took, in milliseconds. What did not happen is absent. */
export interface Timings {
  /** Reading and parsing the body. */
  receiveMs?: number;
  /** Checking the credential. */
  verifyMs?: number;
  /** The mapping as a whole. */
  mappingMs?: number;
  /** Its transform. */
  transformMs?: number;
}

/** What a mapping's `answer` tells the sender of an event. */
export interface Answer {
  status: number;
  contentType: string;
  body: string;
}

export type AcceptResult =
  | { kind: "committed"; receipt: Receipt }
  /** The key is known: the first receipt, with `replayed` true. */
  | { kind: "replayed"; receipt: Receipt }
  /** The content is not what the sender signed. */
  | { kind: "forged" }
  | { kind: "conflict" }
  /** Another event set a key that this one had read: nothing is committed. */
  | { kind: "state-changed" }
  /** Its mapping's state has no room for another key: nothing is committed. */
  | { kind: "state-full" };

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

/** What an action's agent reads and may call, by its event. */
export type ToolAccess = Pick<AgentAction, "context" | "grants">;

export interface Run {
  id: string;
  kind: "hook" | "heartbeat";
  eventId?: string;
  hook?: string;
  /** The id of its mapping. Absent: a built-in hook, or a heartbeat. */
  mapping?: string;
  sessionKey: string;
  /** Absent on heartbeats. */
  action?: AgentAction;
  /** What later events added to the action's message, in order, and what the last one lets the agent read. Only on claimed runs and in an event's record. */
  joined?: { messages: string[]; leftOut: number; access?: ToolAccess };
  /** Only in an event's record, of runs that have some. */
  steps?: Step[];
  /** Only in an event's record and in `getRun`, if there are any: the last ones, in order. */
  failedAttempts?: FailedAttempt[];
  state: RunState;
  /** Why it is held. */
  holdReason?: string;
  /** What it waits for, in lists: while it is ready and its mapping is paused, or queued behind another run of its session. */
  waitsFor?: RunWait;
  /** While it is not finished: since when the provider of its model has been unavailable. */
  unavailableSince?: number;
  /** The provider that it waits for, until its next attempt. */
  waitingFor?: string;
  /** Includes the current one while running. */
  attempts: number;
  createdAt: number;
  dueAt: number;
  startedAt?: number;
  finishedAt?: number;
  reply?: string;
  model?: string;
  usage?: TokenUsage;
  /** In the currency of the configured prices; absent if the model has none. */
  cost?: number;
  warnings: string[];
  error?: string;
}

/**
 * paused: its mapping is, or that of the run before it · held: the run before it is · turn: the run before it is not finished.
 * `runId` with `eventId` and `holdReason`: the first of its session; absent if it is that one itself.
 */
export interface RunWait {
  kind: "paused" | "held" | "turn";
  runId?: string;
  eventId?: string;
  holdReason?: string;
  /** The mapping that is paused. */
  mapping?: string;
}

/** Why a run is given back. */
export interface GiveBack extends Pick<Run, "unavailableSince" | "waitingFor"> {
  error: string;
}

/** Heartbeats are recorded, never claimed: a claimed run always has an action. */
export interface ClaimedRun extends Run, Claim {
  action: AgentAction;
  /** An operator released it: it must not be held again. */
  released?: boolean;
}

/** The tokens and cost of the finished runs of a day, hook, mapping and model. */
export interface Spend {
  /** UTC, as 2026-11-27. */
  day: string;
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
  /** Once it is sent, its route is the one used last. Absent: it is not. */
  routeBy?: RouteOrigin;
  text: string;
  /** The session whose reply it is, if it goes to the place of the event. */
  conversation?: string;
  /** It replaces the conversation's earlier message there; `notice`: only the notice of its own run. */
  update?: boolean | "notice";
  /** It is a notice that its run has failed. */
  isNotice?: boolean;
  /** It asks a person: the ids of its messages are kept. */
  isQuestion?: boolean;
}

export interface Delivery extends NewDelivery {
  state: DeliveryState;
  attempts: number;
  /** Only in an event's record, if there are any: the last ones, in order. */
  failedAttempts?: FailedAttempt[];
  createdAt: number;
  dueAt: number;
  /** The start of the last attempt. */
  startedAt?: number;
  /** Parts of the split text that were sent. */
  partsSent: number;
  /** Where it was sent, with `last` resolved. */
  route?: Route;
  sentAt?: number;
  error?: string;
  /** What is different from what was asked for, in sentences. */
  warnings: string[];
}

export interface ClaimedDelivery extends Delivery, Claim {
  /** The messages that it replaces, as the channel named them. */
  replaces?: string[];
}

export interface Route {
  channel: ChannelName;
  to: string;
}

export interface DeliveryProgress {
  partsSent: number;
  route?: Route;
  /** The id of the last part that was sent, as the channel gave it. `update` replaces all of a delivery. */
  messageId?: string;
}

/** `skipped`: there was no recipient; this is not a failure. */
export type DeliveryEnd = Partial<DeliveryProgress> & { at: number; error?: string; warnings?: string[] } & (
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
  /** What failures of its kind have in common, as `toErrorGroup` writes it. */
  group: string;
  attempts: number;
  /** When it failed for the last time. */
  at: number;
}

export interface EventSummary extends Pick<
  NewEvent,
  "id" | "hook" | "mapping" | "event" | "subject" | "reason" | "receivedAt" | "replayOf" | "failure"
> {
  status: EventStatus;
  actions: ActionReceipt[];
  /** How many of its runs and deliveries are unfinished, and how many failed permanently. */
  open: number;
  dead: number;
  /**
   * If its actions have one run in all: that run, and one of its deliveries: a failed, else an unfinished, else the newest.
   * `others`: how many more are in the same state.
   */
  run?: Pick<
    Run,
    "id" | "state" | "attempts" | "startedAt" | "finishedAt" | "error" | "holdReason" | "waitingFor" | "waitsFor"
  >;
  delivery?: Pick<Delivery, "id" | "state" | "channel" | "to" | "route" | "attempts" | "sentAt" | "error"> & {
    others: number;
  };
}

export interface EventRecord
  extends EventSummary, Pick<NewEvent, "credential" | "traceparent" | "request" | "warnings" | "log" | "timings"> {
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
  /** What the turn added to its session, and the summary for the main session. */
  entries: NewEntry[];
  deliveries: NewDelivery[];
  /** The answer that ended a turn with steps. What it used is spent now; what the earlier steps used was spent with them. */
  lastStep?: Step;
  /** Replies that a person must see first. Their deliveries are not among `deliveries`. */
  questions?: NewApproval[];
}

/** The end of a run that failed permanently; one commit stores all of it. */
export interface RunFailure {
  finishedAt: number;
  error: string;
  entries: NewEntry[];
  /** The notice for the place of the event. */
  deliveries?: NewDelivery[];
}

/** What a search finds; undefined: anything. */
export interface EventSearch {
  /** From this time on, and before this one. */
  from?: number;
  to?: number;
  hook?: string;
  status?: EventStatus;
  mapping?: string;
  /** The event's name. */
  event?: string;
  credential?: string;
  /** The key of a session that it has an action for. */
  session?: string;
  /** The model that answered one of its turns. */
  model?: string;
  /** The channel of one of its deliveries. */
  channel?: string;
  /** The error group of a dead letter. */
  group?: string;
  fields?: FieldCondition[];
  /** In any case: in its row, body, prompts, replies or errors. */
  text?: string;
}

/** A value of the payload, a header or a parameter of the query, as text. */
export interface FieldCondition {
  /** `["payload", "repository", "full_name"]`, `["headers", "x-github-delivery"]`, `["query", "page"]` */
  path: string[];
  value: string;
}

export interface SearchChunk {
  /** Newest first. */
  ids: string[];
  /** How many events it has looked at. */
  searched: number;
  /** When the last of them was received. */
  at?: number;
  /** The id of the last of them, where the search continues. Absent: there is nothing older. */
  end?: string;
}

/** Which held runs are released; undefined: all. Those that wait for a person's word stay held. */
export interface HeldFilter {
  reason?: string;
  runs?: string[];
  sessionKey?: string;
}

/** A mapping whose runs wait until it is resumed. */
export interface Pause {
  mapping: string;
  since: number;
}

/** How many events of a mapping have a status, and when the last of them was received. */
export interface MappingCount {
  mapping: string;
  status: EventStatus;
  count: number;
  lastAt: number;
}

/** A question to a person. What it asks never changes. */
export interface NewApproval {
  id: string;
  kind: ApprovalKind;
  /** Four characters, from `Journal.reserveCodes`: its name in a message. */
  code: string;
  runId: string;
  eventId?: string;
  hook?: string;
  /** The id of the mapping; empty for the built-in hooks. */
  mapping: string;
  /** The step of the call; of a reply, the last step of its run, or 0. */
  step: number;
  /** `<set>.<call>`; absent for a reply. */
  call?: string;
  /** The final arguments. */
  arguments?: CallArguments;
  /** Digest of the call and its arguments. */
  hash?: string;
  /** Digest of the grant, the block of the set without its secrets, and the locked call, as they were when it was asked. */
  basis?: string;
  /** The private sources of what the model had read. */
  sources: string[];
  /** The calls that the event has led to before, if it is a replay. */
  earlier?: string[];
  /** Its message does not show everything, so that no message can answer it. */
  onlyOnPage?: true;
  /** The deliveries of a reply, which an approval inserts. */
  deliveries?: NewDelivery[];
  askedAt: number;
  /** When it is denied, unless somebody decides. Absent: never. */
  expiresAt?: number;
  /** From when on the call can be repeated, if the outcome is asked for. */
  againAt?: number;
  /** The delivery that asks. Absent: it can only be answered on the page, by a command or the API. */
  question?: NewDelivery;
}

export interface NewDecision {
  decision: Decision;
  /** The person: `slack:T0ACME/U0ANN`, or `operator` with the gateway's token. */
  by: string;
  at: number;
  reason?: string;
  /** With `done`: what the call gave, as far as it is known. */
  result?: string;
}

export interface Approval extends Omit<NewApproval, "question"> {
  state: ApprovalState;
  /** The delivery that asks. */
  questionId?: string;
  decision?: Decision;
  by?: string;
  /** When it was decided, has expired or was withdrawn. */
  decidedAt?: number;
  reason?: string;
  result?: string;
}

/** `decided`: this was the first decision · `conflict`: it was decided before, or has ended otherwise. */
export interface Decided {
  kind: "decided" | "conflict";
  approval: Approval;
}

/** A question that was asked in a place, and the delivery that asked it. */
export interface AskedApproval {
  approval: Approval;
  /** When the question was sent. */
  sentAt: number;
  /** The ids of its messages, as the channel gave them. */
  messageIds: string[];
}

/** What a run waits for while it is held. */
export interface Questions {
  /** The calls that wait. */
  steps: Step[];
  /** New ones. An outcome is only asked for while its call has no result. */
  asked: NewApproval[];
  /** The ids of those that were asked before. */
  open: string[];
}

/** What becomes of an approval with a step of its call. */
export interface ApprovalUse {
  id: string;
  /** used: it was approved · withdrawn: it was approved or open. */
  state: "used" | "withdrawn";
  reason?: string;
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

/**
 * What a commit may have made due; `lease`: a node has released a named lease; `cancel`: a run that is running was canceled;
 * `publication`: there is a new one, or another subscription.
 */
export type NewWork = "run" | "delivery" | "heartbeat" | "lease" | "cancel" | "publication";

/** What a commit changed. The reader takes the rest from the journal. */
export type Change =
  /** It was recorded, or something has become of it: a run, a delivery, its status. */
  | { kind: "event"; id: string }
  /** A run or delivery was claimed, has ended, waits for another attempt, is held or released. */
  | { kind: "run"; id: string; eventId?: string; state: RunState }
  | { kind: "delivery"; id: string; eventId?: string; state: DeliveryState }
  /** A run or delivery became a dead letter, or it was retried or dropped. */
  | { kind: "dead-letter"; id: string; eventId?: string; isDead: boolean }
  /** It was asked, or has ended. */
  | { kind: "approval"; id: string; eventId?: string; state: ApprovalState }
  /** Entries were added to it. */
  | { kind: "session"; key: string };
