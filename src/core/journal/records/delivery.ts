import type { ChannelName, DeliveryState, RouteOrigin } from "../../types.ts";
import type { FailedAttempt, Interruptions } from "./failed-attempt.ts";
import type { Claim } from "./node.ts";

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
  /** Who is answered there: `to` without its thread, in lower case. How many answers one gets is limited. */
  addressee?: string;
  /** Replaces the conversation's earlier message there; `notice`: only the notice of its own run. */
  update?: boolean | "notice";
  /** A notice that its run has failed. */
  isNotice?: boolean;
  /** A question to a person: the ids of its messages are kept. */
  isQuestion?: boolean;
  /** The id of a question that has ended: it replaces the message that asks. */
  ends?: string;
}

export interface Delivery extends Omit<NewDelivery, "addressee"> {
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
  /** Differences from what was asked for, in sentences. */
  warnings: string[];
}

export interface ClaimedDelivery extends Delivery, Claim {
  /** Absent if there are none. */
  interruptions?: Interruptions;
  /** The messages that it replaces, as the channel named them. */
  replaces?: string[];
}

export interface Route {
  channel: ChannelName;
  to: string;
  /** The thread of its session, which it went into or opened. */
  thread?: string;
}

/** A message that a delivery has sent, in a session that is kept. */
export interface SentMessage {
  sessionKey: string;
  /** The recipient, with the name that its delivery has. */
  to: string;
}

/** A thread of a session. */
export interface SessionThread {
  channel: ChannelName;
  to: string;
  thread: string;
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
  /** The error without its details, from `toErrorGroup`: equal for failures of one kind. */
  group: string;
  attempts: number;
  /** When it failed for the last time. */
  at: number;
}
