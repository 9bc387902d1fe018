import type { Workspace } from "./ports/agent.ts";
import type { StoredSettings } from "./config/settings.ts";
import type { LogLine } from "./errors.ts";
import type { ReviewVerdict } from "./ports/channel.ts";
import type { SignedIdentity } from "./ports/signature.ts";

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

export const WAKE_MODES = ["now", "next-heartbeat"] as const;
/** now: a heartbeat at once · next-heartbeat: wait for the next periodic one. */
export type WakeMode = (typeof WAKE_MODES)[number];

/** The key of the main session. Requests cannot name it: see `mapping/policy/policy.ts`. */
export const MAIN_SESSION = "main";

/** The credential of a dry run: it sees every mapping. Of a mapping in another configuration: whose secret is not known. */
export const ANY_CREDENTIAL = "any";

/** Whether an `auth` verified the request, and no token that belongs to the service. */
export function isSender(credential: string | undefined): boolean {
  return credential?.startsWith("auth:") === true;
}

/** Who shares the room for waiting runs: all tokens are one. */
export function senderOf(credential: string | undefined): string {
  return credential !== undefined && isSender(credential) ? credential : "token";
}

/** Hooks that the service answers itself, without a mapping. */
export const BUILT_IN_HOOKS = ["wake", "agent"] as const;
export type BuiltInHook = (typeof BUILT_IN_HOOKS)[number];

/** Hooks of schedules begin with this. No request from outside reaches them. */
const SCHEDULE_HOOKS = "schedule/";

/** The hook of a mapping with a schedule. */
export function toScheduleHook(id: string): string {
  return SCHEDULE_HOOKS + id;
}

/** The credential of its events: the operator's own, which nothing limits. */
export function toScheduleCredential(id: string): string {
  return `auth:schedule ${id}`;
}

export function isScheduleHook(hook: string): boolean {
  return hook.startsWith(SCHEDULE_HOOKS);
}

/** The id of the mapping whose schedule the hook is. */
export function toScheduleId(hook: string): string | undefined {
  return isScheduleHook(hook) ? hook.slice(SCHEDULE_HOOKS.length) : undefined;
}

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
  /** Reads the payload again with its long numbers as they came, if it is JSON inside of the body. */
  readExact?: () => unknown;
  /** Sentences for the caller about the body. */
  warnings?: string[];
  contentType: string;
  /** Milliseconds since the epoch. */
  receivedAt: number;
  /** How long it took to read and parse the body, and to check the credential, in milliseconds. */
  timings?: { receiveMs: number; verifyMs: number };
  /** The name of its credential, such as `token:default`: the scope of its idempotency keys. */
  credential: string;
  /** From the `Idempotency-Key` header. */
  idempotencyKey?: string;
  /** The part that only the sender can have made, if it signs its requests. */
  signature?: SignedIdentity;
  /** The request shows no credential but the value of a button: nothing but a press of that button comes of it. */
  isProvedByButton?: true;
  /** The address of the client. */
  client: string;
  /** The id of the event that an operator replays. */
  replayOf?: string;
  /** Caught up after an outage, from its sender's API. The sender may still deliver it for days. */
  isCaughtUp?: true;
  /**
   * The time of a schedule, which comes once: until then at least its idempotency key is kept, also after a skip or a refusal.
   * In milliseconds since the epoch.
   */
  onceUntil?: number;
}

export type HookAction = WakeAction | AgentAction | NoneAction;

/** Starts nothing: its event is only published. */
export interface NoneAction extends ActionBase {
  kind: "none";
}

/** Names and values that subscribers filter by. */
export interface EventArguments {
  readonly [name: string]: string | number | boolean;
}

/** An accepted item of a request, as subscribers get it. */
export interface Publication {
  /** `<hook>.<event>`, or `<hook>`. */
  name: string;
  arguments: EventArguments;
  /** JSON of an object. Absent: the arguments. */
  data?: string;
  /** The ids of the stores that passed the event on, before this one. */
  via: string[];
}

interface ActionBase {
  /** The mapping turns the safety boundary off. */
  allowUnsafeExternalContent: boolean;
  /** Text of the operator, placed before the boundary. */
  instructions?: string;
  /** Who started it. Absent: a machine, or nobody knows. */
  author?: Author;
}

/** Adds a system event to the main session; `now` asks for a heartbeat at once. */
export interface WakeAction extends ActionBase {
  kind: "wake";
  text: string;
  mode: WakeMode;
}

/** operator: in the configuration. request: a request to `agent`, or the route used last. */
export const ROUTE_ORIGINS = ["operator", "request"] as const;
export type RouteOrigin = (typeof ROUTE_ORIGINS)[number];

/** From the weakest on: an agent that may say one may say those before it. */
export const REVIEW_VERDICTS = ["comment", "request-changes", "approve"] as const satisfies ReviewVerdict[];

/** Where a reply goes. */
export interface ReplyTarget {
  channel: ChannelName;
  to?: string;
  /** Who chose where the reply goes. Absent: a mapped payload or a transform; it never becomes the route used last. */
  routeBy?: RouteOrigin;
  /** `channel` and `to` are the place of the event. */
  toSource?: true;
  /** With `toSource`: who is answered, as `addressee` of a delivery. */
  addressee?: string;
  /** With `toSource`: the ids of the messages that the reply follows, the first one of the thread first. */
  references?: string[];
  /** With `toSource`: the subject of the mail that is answered. */
  subject?: string;
  /** With `toSource`: the commit that the event names, which can be reviewed there. */
  commit?: string;
  /** Only people whom the operator knows can see it. Absent: anyone may. */
  isPrivate?: true;
  /** With `toSource`: the reply replaces the session's earlier one there. */
  update?: true;
  /** Replies of one session are in one thread there. */
  thread?: "session";
}

/** Who wrote the text of an event, or did what it tells, as its sender says. Each is one line of outside text. */
export interface Author {
  /** Behind the name of its preset: `github:583231`. Or an address. */
  id?: string;
  /** `@name`, or another name where that is not unique. */
  name?: string;
  /** In the words of the sender: `contributor`. */
  roles?: string[];
}

/** Runs one agent turn in the session of its key. Its own target is the first one. */
export interface AgentAction extends ActionBase, ReplyTarget, StoredSettings {
  kind: "agent";
  message: string;
  /** The prefix of the summary: one line. */
  name: string;
  /** The operator wrote the name; any other one is untrusted text. */
  trustedName?: true;
  sessionKey: string;
  wakeMode: WakeMode;
  deliver: boolean;
  /** The targets after the first one. */
  moreTargets?: ReplyTarget[];
  /** The turn starts without what was said before in the session. */
  isolated?: true;
  /** `provider/model`, aliases resolved. Absent: the configured default. */
  model?: string;
  thinking?: string;
  /** The reply can be a review of the commit that the event names, with this verdict at most. */
  review?: ReviewVerdict;
  timeoutSeconds: number;
  /**
   * Calls for context, made before the agent is asked. Present if the mapping has `context`, also if nothing of it is
   * left.
   */
  context?: ContextCall[];
  /** The calls that the turn may make. */
  grants?: Grant[];
  /** The repository in which the agent works. */
  workspace?: Workspace;
  /** The event continues a session at its own change. */
  woken?: Woken;
  /** Files of the event, which are read in the run. */
  files?: FileRef[];
  /** The host of the service that the event is about. */
  serviceHost?: string;
  /** The place of the message, if others who can read replies of its session cannot see it. */
  sources?: string[];
  /** The author may start a turn, but is not trusted: a person is asked before each call that changes something. */
  stranger?: true;
  /** Joins one run with all actions that arrive under the key within the window. */
  coalesce?: { key: string; windowMs: number };
}

/** In place of the model of a turn that nobody was asked in. */
export const NO_MODEL = "none";

/** check: a check of the change has failed · person: a comment or a review · end: the checks have had all their turns. */
export interface Woken {
  by: "check" | "person" | "end";
  /** The commit that the check was about. */
  commit?: string;
  /** At the end: the branch whose head that must be. */
  branch?: string;
}

/** A change that a session has pushed, as it is kept under the keys of its branch and its pull request. */
export interface KeptChange extends Pick<Workspace, "account" | "repository"> {
  sessionKey: string;
  /** The id of the mapping that made it, and the model of its turn. */
  mapping: string;
  model?: string;
  base: string;
  branch: string;
  /** The recipient of comments at its pull request: `acme/app#12`. Absent: it has none yet. */
  pull?: string;
  /** The commit that was pushed last. */
  commit: string;
  /** The commits that were pushed before it. */
  earlier: string[];
}

/** A call whose result the agent is given with the message. */
export interface ContextCall {
  /** `<set>.<call>` */
  call: string;
  /** They fit the schema that the call had when the event was accepted. */
  arguments: { [name: string]: unknown };
  title: string;
  /** In characters. Default: that of the call. */
  maxLength?: number;
  /** The run is retried if it cannot be read. */
  required?: boolean;
  /** Its text is about a place that others can see, so it is not private. */
  isPublic?: true;
}

/** A file of an event, as its sender says. It is read in the run, by its address, its id, or where it is in the event. */
export interface FileRef {
  name: string;
  type?: string;
  /** In bytes. */
  size?: number;
  url?: string;
  id?: string;
  /** The mailbox of `hooks.mail` that has it under this id. */
  mailbox?: string;
  /** Where its bytes are in the payload, in base64. */
  content?: string[];
  /** Hosts that it is read from without a credential. Absent: through the channel. */
  hosts?: string[];
  /** The place of the event: the file is read through the channel's account. */
  channel?: string;
  to?: string;
  /** Others can see the place, so the file is not private. */
  isPublic?: true;
}

/** The tool sets of what presets read have names of this form, which no set of `agents.tools` can have. */
export const PRESET_SET = "preset:";

export function isPresetCall(call: string): boolean {
  return call.startsWith(PRESET_SET);
}

/** The call that publishes a change: `github.change`. `forges`: the channels with repositories. */
export function isChangeCall(call: string, forges: readonly string[]): boolean {
  return forges.some((forge) => call === `${forge}.change`);
}

/** A call of a tool set that a turn may make. */
export interface Grant {
  /** `<set>.<call>`; `*` stands for any characters. */
  call: string;
  /** read: it only reads · ask: it changes something, and a person is asked · allow: it changes something. */
  mode: "read" | "ask" | "allow";
  /** Arguments that the operator fixed. */
  arguments?: { [name: string]: unknown };
  /** Arguments that the model may fill. Absent: with `allow` none, else all that are not fixed. */
  free?: string[];
  /** In the whole run, refused and denied ones included. Default: for `read` any number, else 1. */
  max?: number;
  /** After a crash it is repeated if its result is not known. */
  retry?: boolean;
  /** Others can see what it changes. */
  isPublic?: true;
}

/** Grants with which a person is asked before each call that changes something. The model fills what it could fill before. */
export function withoutAllow(grants: readonly Grant[]): Grant[] {
  return grants.map((grant) => (grant.mode === "allow" ? { ...grant, mode: "ask", free: grant.free ?? [] } : grant));
}

/** Everywhere the reply is delivered; each is a separate delivery. */
export function listTargets(action: AgentAction): ReplyTarget[] {
  return action.deliver ? [action, ...(action.moreTargets ?? [])] : [];
}

/** place: it is about another place · from: its author may not start a turn. */
export type LeftOutBy = "place" | "from";

/** The actions of a request, checked by the policy. */
export interface Resolution {
  /** The id of the mapping; absent for the built-in hooks. */
  mapping?: string;
  /** The sender's name of the event; with `forEach`, the first item's. */
  event?: string;
  /** The mapping's `subject`, filled in; with `forEach`, the first item's. */
  subject?: string;
  /** Empty: the event is skipped. */
  actions: HookAction[];
  /** By the index of the first action of its item. Absent: nothing is published. */
  publications?: { action: number; publication: Publication; index?: number }[];
  /** Why there are none, for the operator; with `forEach`, why the first item gave none. */
  reason?: string;
  /** With `reason`: which rule of authority left it out. */
  leftOutBy?: LeftOutBy;
  /** One key for the event, or one for each action, empty without one. Unless other content is a conflict, the first event wins. */
  idempotency?: { keys: string[]; perAction: boolean; conflictOnOtherContent: boolean };
  /** Sentences for the caller about fields and keys that were not used. */
  warnings: string[];
  log: LogLine[];
  /** Keys that its transform read and set of its state. Absent: the mapping keeps none. */
  state?: NewState;
  /** How long the transform ran, in milliseconds; absent without one. */
  transformMs?: number;
}

/** Keys that an event read and set of a state. */
export interface NewState {
  /** Several mappings may name one state. */
  name: string;
  /** The event is committed only if each still has this version. */
  reads: { key: string; version?: string }[];
  /** Once for each key. `json`: absent to remove it. `ttlMs`: absent to keep it until then. */
  sets: { key: string; json?: string; ttlMs?: number }[];
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
  /** Its key was known beside others that were not: nothing new was committed for it. */
  repeated?: true;
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

export const EVENT_STATUSES = ["accepted", "skipped", "rejected", "done", "failed", "canceled"] as const;
/**
 * accepted: committed, in progress · skipped: no action · rejected: refused with a 4xx · done · failed: its transform
 * failed, or a run or delivery failed permanently, until an operator retries or drops it · canceled: nothing failed, and an
 * operator canceled a run or dropped a dead letter.
 */
export type EventStatus = (typeof EVENT_STATUSES)[number];

export const RUN_STATES = ["ready", "queued", "running", "held", "done", "dead", "canceled"] as const;
/**
 * ready: starts once it is due · queued: behind another run of its session · running · held: does not start until it is
 * released, and its session waits behind it · done · dead: failed permanently · canceled: by an
 * operator, also after it was dead.
 */
export type RunState = (typeof RUN_STATES)[number];

export const DELIVERY_STATES = ["pending", "queued", "sending", "sent", "skipped", "failed", "canceled"] as const;
/**
 * pending: ready, or waiting for its next attempt · queued: behind another to the same recipient · sending · sent ·
 * skipped: there is nowhere to send it, or nothing left to send · failed: permanently · canceled: failed, and dropped by
 * an operator.
 */
export type DeliveryState = (typeof DELIVERY_STATES)[number];

export const STREAM_MESSAGES = [
  "ready",
  "gap",
  "event",
  "run",
  "delivery",
  "dead-letter",
  "approval",
  "session",
  "rejection",
  "answer",
  "reload",
  "mailbox",
] as const;
/**
 * The messages of the live stream. Each is the latest state of one thing: what changed several times in between comes once.
 * `run`, `delivery`, `dead-letter`, `approval` and `session` only say that something changed; an event comes with its row. An
 * `answer` is what a sender got; the readers that did not ask for it do without.
 */
export type StreamMessage = (typeof STREAM_MESSAGES)[number];

/** call: a call that changes something · outcome: of a call that may have been executed · reply: a reply that is held back. */
export type ApprovalKind = "call" | "outcome" | "reply";

/**
 * open: nobody has decided · approved: a person said yes, or what is known of an outcome · used: the call was sent · denied,
 * expired: a no · withdrawn: it cannot be used any more.
 */
export const APPROVAL_STATES = ["open", "approved", "used", "denied", "expired", "withdrawn"] as const;
export type ApprovalState = (typeof APPROVAL_STATES)[number];

/** Decisions of a person: on a call and a reply the first two, on an outcome the others. */
export const DECISIONS = ["approve", "deny", "done", "again", "give-up"] as const;
export type Decision = (typeof DECISIONS)[number];

/** Why a run is held until a person decides. Nothing else releases it. */
export const QUESTION_HOLDS = {
  approval: "approval",
  outcome: "outcome unknown",
} as const;
