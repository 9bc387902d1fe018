import type { LogLine } from "./errors.ts";

/**
 * The request path as types:
 *
 *   POST ──ingress──▶ HookRequest ──mapping──▶ Resolution (HookAction[]) ──journal──▶ Receipt ──respond──▶ HttpResponse
 *                                                                             │
 *                                                                             ▼
 *                                                     dispatch ──▶ actions ──▶ channels
 */

/** The name of a messaging channel, as its block in the configuration has it; `last` for the one that was used last. */
export type ChannelName = string;

/** The channel that stands for the place of the event, as its mapping's `source` names it. */
export const SOURCE_CHANNEL: ChannelName = "source";

/** What `last` means while no channel has been used yet. */
export const FALLBACK_CHANNEL: ChannelName = "whatsapp";

/** now: a heartbeat at once · next-heartbeat: wait for the next periodic one. */
export type WakeMode = "now" | "next-heartbeat";

/** The key of the main session. Requests cannot name it: see `mapping/policy.ts`. */
export const MAIN_SESSION = "main";

/** The credential of a dry run: it sees every mapping. Of a mapping in another configuration: whose secret is not known. */
export const ANY_CREDENTIAL = "any";

/** Hooks that the service answers itself, without a mapping. */
export const BUILT_IN_HOOKS = ["wake", "agent"] as const;
export type BuiltInHook = (typeof BUILT_IN_HOOKS)[number];

/** A verified request with its body. It contains no secret of the sender. */
export interface HookRequest {
  /** UUIDv7. The `requestId` of answers, and the id of the event. */
  id: string;
  /** The name after `hooks.path`, without a slash at either end; may contain `/`. */
  hook: string;
  method: string;
  /** Percent-encoded as it was sent, without the query. */
  path: string;
  /** Query parameters without `token`; of a repeated parameter the last value. */
  query: Record<string, string>;
  /** Names in lower case, values of repeated headers joined by `, `; without credentials and cookies. */
  headers: Record<string, string>;
  /** The decompressed body. */
  rawBody: Buffer;
  /** The parsed body: any JSON value. undefined: nothing in this process has parsed it, or needs it any more. */
  payload: unknown;
  /** True when `payload` is `JSON.parse` of `rawBody`, so that another process only needs the bytes. */
  payloadIsBody: boolean;
  /** Sentences for the caller about the body. */
  warnings?: string[];
  contentType: string;
  /** Milliseconds since the epoch. */
  receivedAt: number;
  /** How long it took to read and parse the body, and to check the credential, in milliseconds. */
  took?: { receiveMs: number; verifyMs: number };
  /** The name of its credential, such as `token:default`: the scope of its idempotency keys. */
  credential: string;
  /** From the `Idempotency-Key` header. */
  idempotencyKey?: string;
  /** The address of the client. */
  client: string;
  /** The id of the event that an operator replays. */
  replayOf?: string;
}

export type HookAction = WakeAction | AgentAction;

interface ActionBase {
  /** The mapping turns the safety boundary off. */
  allowUnsafeExternalContent: boolean;
  /** Text of the operator, placed before the boundary. */
  instructions?: string;
}

/** Adds a system event to the main session; `now` asks for a heartbeat at once. */
export interface WakeAction extends ActionBase {
  kind: "wake";
  text: string;
  mode: WakeMode;
}

/** Runs one agent turn in the session of its key. */
export interface AgentAction extends ActionBase {
  kind: "agent";
  message: string;
  /** none: without an agent, the message itself is the reply. */
  agent?: "none";
  /** The prefix of the summary: one line. */
  name: string;
  /** The operator wrote the name; any other one is untrusted text. */
  trustedName?: true;
  sessionKey: string;
  wakeMode: WakeMode;
  deliver: boolean;
  channel: ChannelName;
  to?: string;
  /** `channel` and `to` are the place of the event. */
  toSource?: true;
  /** With `toSource`: the reply replaces the session's earlier one there. */
  update?: true;
  /** `provider/model`, aliases resolved. Absent: the configured default. */
  model?: string;
  thinking?: string;
  timeoutSeconds: number;
  /** Joins one run with all actions that arrive under the key within the window. */
  coalesce?: { key: string; windowMs: number };
}

/** The actions of a request, checked by the policy. */
export interface Resolution {
  /** The id of the mapping; absent for the built-in hooks. */
  mapping?: string;
  /** What the sender calls the event; with `forEach`, the first item's. */
  event?: string;
  /** Empty: the event is skipped. */
  actions: HookAction[];
  /** Why there are none, for the operator; with `forEach`, why the first item gave none. */
  reason?: string;
  /** One key for the event, or one for each action. Unless other content is a conflict, the first event wins. */
  idempotency?: { keys: string[]; perAction: boolean; conflictOnOtherContent: boolean };
  /** Sentences for the caller about fields and keys that were not used. */
  warnings: string[];
  log: LogLine[];
  /** How long the transform ran, in milliseconds; absent without one. */
  transformMs?: number;
}

export type { LogLine };

/** An accepted action as answers show it. */
export interface ActionReceipt {
  kind: HookAction["kind"];
  mode?: WakeMode;
  runId?: string;
  sessionKey?: string;
  /** The action joined the run of an earlier request. */
  coalesced?: true;
}

/** The result of a commit that has reached the disk. */
export interface Receipt {
  eventId: string;
  actions: ActionReceipt[];
  warnings: string[];
  /** The idempotency key was known, so nothing new was committed. */
  replayed: boolean;
}

/** An answer over HTTP. */
export interface HttpResponse {
  status: number;
  headers: Record<string, string>;
  /** Sent as JSON, a `Readable` or `Buffer` as it is; undefined: no body. */
  body?: unknown;
}

export const EVENT_STATUSES = ["accepted", "skipped", "rejected", "done", "failed", "dead"] as const;
/**
 * accepted: committed, in progress · skipped: no action · rejected: refused with a 4xx · done · failed: the transform
 * failed, nothing was dispatched · dead: a run or delivery failed permanently, until an operator retries or drops it.
 */
export type EventStatus = (typeof EVENT_STATUSES)[number];

export const RUN_STATES = ["ready", "queued", "running", "held", "done", "dead", "dropped"] as const;
/**
 * ready: starts once it is due · queued: behind another run of its session · running · held: does not start until it is
 * released, and its session waits behind it · done · dead: failed permanently · dropped: dead, and dismissed by an operator.
 */
export type RunState = (typeof RUN_STATES)[number];

export const DELIVERY_STATES = ["pending", "queued", "sending", "sent", "skipped", "failed", "dropped"] as const;
/**
 * pending: ready, or waiting for its next attempt · queued: behind another to the same recipient · sending · sent ·
 * skipped: to the last channel, but no channel has been used · failed: permanently · dropped: failed, and dismissed by
 * an operator.
 */
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** The fields of a mapping that are templates. */
export const TEMPLATE_FIELDS = [
  "messageTemplate",
  "textTemplate",
  "name",
  "sessionKey",
  "channel",
  "to",
  "model",
  "thinking",
  "dedupe",
  "echo",
] as const;
export type TemplateField = (typeof TEMPLATE_FIELDS)[number];
