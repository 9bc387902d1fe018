import type {
  ActionReceipt,
  AgentAction,
  EventStatus,
  HookAction,
  LeftOutBy,
  LogLine,
  NewState,
  Publication,
  Receipt,
} from "../../types.ts";
import type { UnfinishedWord } from "../../shared/words.ts";
import type { Delivery } from "./delivery.ts";
import type { Run } from "./run.ts";
import type { Entry, NewEntry } from "./session.ts";

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

export interface NewEvent {
  id: string;
  hook: string;
  mapping?: string;
  /** The event's name: `pull_request.opened`. */
  event?: string;
  /** Its subject, in one line: `acme/shop#7: Fix the total`. */
  subject?: string;
  /** accepted · skipped (no actions) · rejected · failed (no actions, with `failure`). */
  status: Extract<EventStatus, "accepted" | "skipped" | "rejected" | "failed">;
  /** Why it is skipped. */
  reason?: string;
  leftOutBy?: LeftOutBy;
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
   * state. With `isOnce`, neither holds.
   */
  idempotency?: Idempotency;
  /** Keys of a state that its transform read and set. */
  state?: NewState;
  warnings: string[];
  log: LogLine[];
  timings?: Timings;
  failure?: EventFailure;
}

/** An accepted action. A wake is done with its commit, an agent action gets a run. */
export type NewAction = {
  /** The event that subscribers get with this commit. */
  publication?: NewPublication;
} & (
  | { action: Extract<HookAction, { kind: "none" }> }
  | { action: Extract<HookAction, { kind: "wake" }>; entry: NewEntry }
  | {
      action: AgentAction;
      runId: string;
      /** Later actions with the same key join this run. */
      window?: CoalesceWindow;
      /** Joins a waiting run instead of getting one. */
      joins?: true;
    }
);

export interface CoalesceWindow {
  /** Unique across mappings. */
  key: string;
  /** When the run starts. */
  closesAt: number;
}

/** Committed with the event. */
export interface NewPublication extends Publication {
  /** The id of the event; with `forEach`, `<id>.<index>`. */
  id: string;
  at: number;
}

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
  /** The keys are known and kept whatever becomes of the event. */
  isOnce?: true;
  expiresAt: number;
  /** A further key of the event as a whole, which is asked first: of the bytes that its sender signed. */
  signature?: {
    key: string;
    expiresAt: number;
    /** The content is not signed: other content under the key is `forged`. */
    isContentUnsigned?: boolean;
  };
}

/** How long the steps before the commit took, in milliseconds. A step that did not happen is absent. */
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

export type AcceptResult =
  | { kind: "committed"; receipt: Receipt }
  /** The key is known: the first receipt, with `replayed` true. */
  | { kind: "replayed"; receipt: Receipt }
  /** The content is not what the sender signed. */
  | { kind: "forged" }
  | { kind: "conflict" }
  /** Another event set a key that this one had read: nothing is committed. */
  | { kind: "state-changed" }
  /** Its state has no room for another key: nothing is committed. */
  | { kind: "state-full" };

/** A mapping's `answer` to the sender of an event. */
export interface Answer {
  status: number;
  contentType: string;
  body: string;
}

/** A key of a state that has a value. */
export interface StateRow {
  key: string;
  /** Another one after each set. */
  version: string;
  json: string;
}

export interface EventSummary extends Pick<
  NewEvent,
  "id" | "hook" | "mapping" | "event" | "subject" | "reason" | "leftOutBy" | "receivedAt" | "replayOf" | "failure"
> {
  status: EventStatus;
  /** While it is accepted: the first of these that is true of one of its runs and deliveries. */
  unfinished?: UnfinishedWord;
  actions: ActionReceipt[];
  /** How many of its runs and deliveries are unfinished, failed permanently, and were canceled. */
  open: number;
  dead: number;
  canceled: number;
  /** The error of a failed request without details, equal for those of one cause. */
  failureGroup?: string;
  /** The accepted replay of a failed request. */
  replayedBy?: string;
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

/** How many events of a mapping have a status, and when the last of them was received. */
export interface MappingCount {
  mapping: string;
  status: EventStatus;
  count: number;
  lastAt: number;
}
