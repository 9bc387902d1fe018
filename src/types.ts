/**
 * The way through the house, as types. Data goes down and never back up:
 *
 *   POST ──ingress──▶ HookRequest ──mapping──▶ Resolution (HookAction[]) ──journal──▶ Receipt ──respond──▶ HttpResponse
 *                                                                             │
 *                                                     what the journal holds is carried out:
 *                                                     dispatch ──▶ actions ──▶ channels
 */

/** The name of a messaging channel's block in the configuration; `last` for the one that was used last. */
export type ChannelName = string;

/** Where `last` leads while no channel has been used yet. */
export const FALLBACK_CHANNEL: ChannelName = "whatsapp";

/** now: a heartbeat at once · next-heartbeat: wait for the next periodic one. */
export type WakeMode = "now" | "next-heartbeat";

/** Key of the main session. No request can name it: see `mapping/policy.ts`. */
export const MAIN_SESSION = "main";

/** The hook names that the service itself answers; no mapping can take them. */
export const BUILT_IN_HOOKS = ["wake", "agent"] as const;

/** A request that was routed, let in and read. Nothing in it is a credential. */
export interface HookRequest {
  /** UUIDv7. The `requestId` of every answer, the event's id once it is committed. */
  id: string;
  /** The name after `hooks.path`, without a slash at either end; may hold `/`. */
  hook: string;
  method: string;
  /** The requested path, percent-encoded as it came, without the query. */
  path: string;
  /** Query parameters without `token`; of a repeated one the last. */
  query: Record<string, string>;
  /** Header names in lower case, repeated ones joined by `, `; without the credential headers and cookies. */
  headers: Record<string, string>;
  /** The body after decompression, byte for byte. */
  rawBody: Buffer;
  /** The parsed body. Anything JSON can say. */
  payload: unknown;
  /** True where `payload` is just `JSON.parse` of `rawBody`: whoever needs it elsewhere can parse the bytes again. */
  payloadIsBody: boolean;
  contentType: string;
  /** Milliseconds since the epoch. */
  receivedAt: number;
  /** Which credential let the request in: the scope of its idempotency keys. Never the secret itself. */
  credential: string;
  /** From the `Idempotency-Key` header. */
  idempotencyKey?: string;
  /** The client's address, IPv4 forms made one. */
  client: string;
  /** Id of the event whose request an operator runs again by this one. */
  replayOf?: string;
}

export type HookAction = WakeAction | AgentAction;

/** What stands behind both kinds of action. */
interface ActionBase {
  /** True where the mapping switches the safety boundary off. */
  allowUnsafeExternalContent: boolean;
  /** The operator's own words, placed before the boundary. */
  instructions?: string;
}

/** Adds a system event to the main session; `now` asks for a heartbeat at once. */
export interface WakeAction extends ActionBase {
  kind: "wake";
  text: string;
  mode: WakeMode;
}

/** Runs one agent turn in a session of its own. */
export interface AgentAction extends ActionBase {
  kind: "agent";
  message: string;
  /** none: no agent is asked, the message itself is the reply. Absent: the agent of the model. */
  agent?: "none";
  /** Prefix of the summary. One line. */
  name: string;
  sessionKey: string;
  wakeMode: WakeMode;
  deliver: boolean;
  channel: ChannelName;
  to?: string;
  /** `provider/model`, aliases resolved. Absent: the configured default. */
  model?: string;
  thinking?: string;
  timeoutSeconds: number;
  /** Runs with what else comes under the key, in this many milliseconds from the first. */
  coalesce?: { key: string; windowMs: number };
}

/** What a mapping made of a request: the policy has passed it. */
export interface Resolution {
  /** Id of the mapping that took the request; absent for the built-in hooks. */
  mapping?: string;
  /** Empty: the event is recorded as skipped. */
  actions: HookAction[];
  /** One key for the event, or one for each action (`forEach`). `content` false: the first one stands. */
  idempotency?: { keys: string[]; perAction: boolean; conflictOnOtherContent: boolean };
  /** Sentences for the caller about fields that were ignored. */
  warnings: string[];
  log: LogLine[];
}

/** A captured line of a transform's `console`. */
export interface LogLine {
  level: "debug" | "log" | "info" | "warn" | "error";
  text: string;
}

/** How an accepted action is named in answers. */
export interface ActionReceipt {
  kind: HookAction["kind"];
  mode?: WakeMode;
  runId?: string;
  sessionKey?: string;
  /** It joined the run of an earlier request. */
  coalesced?: true;
}

/** What the journal says once the commit has reached the disk. */
export interface Receipt {
  eventId: string;
  actions: ActionReceipt[];
  warnings: string[];
  /** True when an idempotency key was known: nothing new was committed. */
  replayed: boolean;
}

/** An answer over HTTP. */
export interface HttpResponse {
  status: number;
  headers: Record<string, string>;
  /** Sent as JSON, a `Readable` as it is; undefined: no body. */
  body?: unknown;
}

export const EVENT_STATUSES = ["accepted", "skipped", "rejected", "done", "failed", "dead"] as const;
/**
 * accepted: committed, not carried out yet · skipped: no action came of it · rejected: refused with a 4xx ·
 * done · failed: the transform failed, nothing was dispatched · dead: carrying it out failed for good, until an operator
 * retries or drops all that did; with the last one dropped it is done.
 */
export type EventStatus = (typeof EVENT_STATUSES)[number];

export const RUN_STATES = ["ready", "queued", "running", "done", "dead", "dropped"] as const;
/**
 * ready: may start once due · queued: behind another of its session · running · done · dead: failed for good ·
 * dropped: dead, and an operator wants no more of it.
 */
export type RunState = (typeof RUN_STATES)[number];

export const DELIVERY_STATES = ["pending", "queued", "sending", "sent", "skipped", "failed", "dropped"] as const;
/**
 * pending: ready or waiting for its next try · queued: behind another to the same recipient · sending · sent ·
 * skipped: no channel has been used yet, and none was named · failed: for good · dropped: failed, and an operator wants
 * no more of it.
 */
export type DeliveryState = (typeof DELIVERY_STATES)[number];
