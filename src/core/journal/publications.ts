import type { EventArguments } from "../types.ts";
import type { NewPublication } from "./records/event.ts";
import type { Lease } from "./records/node.ts";

/* Published events, who may read them, and how far each subscriber has come. */

/** `seq`: the order in which rows were written, which is not the order in which their commits became visible. */
export type Unnumbered = NewPublication & { seq: number };

/** `position`: dense. Everything that has a lower one is committed and visible. */
export type NumberedPublication = NewPublication & { position: number };

/** An event type that was published once. Its schema is only widened. */
export interface PublishedType {
  name: string;
  payloadSchema: object;
}

export interface PublicationState {
  /** The position of the newest publication; 0: there was none. */
  position: number;
  /** Publications up to this position may have been deleted. */
  swept: number;
  /** The id of the publication that had it; empty: none was deleted. */
  sweptId: string;
  /** Another one after each change of a subscription by anybody but the node that delivers. */
  version: number;
}

/** A subscription in its subscriber's terms. */
export interface SubscriptionTerms {
  id: string;
  principal: string;
  name: string;
  arguments: EventArguments;
  url: string;
  /** Encrypted. */
  secret: string;
  /** Signs besides `secret` until a time. Encrypted. */
  oldSecret?: { secret: string; until: number };
  createdAt: number;
  refreshedAt: number;
  /** undefined: never. */
  expiresAt?: number;
}

/** A publication that was given up for a subscriber. */
export interface AbandonedEvent {
  id: string;
  position: number;
  reason: string;
  at: number;
}

/** A publication that was sent and is neither acknowledged nor given up. */
export interface OpenEvent {
  position: number;
  /** Since when each attempt has failed. */
  failingSince?: number;
}

/** Only the node that delivers writes it, after the beginning. */
export interface SubscriptionProgress {
  /** Every position up to this one is acknowledged or abandoned, or was not for the subscriber. */
  acked: number;
  /** Stands for `acked`, or for a position before it. */
  cursor: string;
  /** Every position up to this one is too, but those of `open`. */
  scanned: number;
  open: OpenEvent[];
  /** An event was given up after a day, and the subscriber does not know it. */
  hasGap?: boolean;
  /** No delivery has succeeded since this time. */
  failingSince?: number;
  /** A refresh after this time resumes it. */
  suspendedAt?: number;
  lastDeliveryAt?: number;
  /** A category. */
  lastError?: string;
  /** Why it has ended. The subscriber gets one more message, then it is deleted. */
  ended?: { code: number; message: string; data?: object; at: number };
  abandonedCount: number;
}

export interface Subscription extends SubscriptionTerms {
  /** Another one if it ended and was begun again. */
  generation: string;
  progress: SubscriptionProgress;
}

export const MAX_SUBSCRIPTIONS = { principal: 100, all: 1000 };

export type SubscribeResult =
  | { kind: "created" | "refreshed"; subscription: Subscription }
  | { kind: "full"; max: number };

/** The publications and subscriptions of a journal. */
export interface Publications extends PublicationReads, PublicationWrites {
  /** Names this store, in cursors. A copy has the same. */
  storeId(): Promise<string>;
}

/** Writes with the same statements in every store. */
export interface PublicationWrites {
  /** Gives rows their positions, in this order, and stores types. False if the lease is lost. */
  number(lease: Lease, numbered: { seqs: number[]; types: PublishedType[] }): Promise<boolean>;
  /** Begins a subscription, or changes the terms of a live one and keeps its progress. */
  subscribe(terms: SubscriptionTerms, progress: SubscriptionProgress): Promise<SubscribeResult>;
  /** False if there is none. */
  unsubscribe(id: string): Promise<boolean>;
  /** Ends it, and tells its subscriber. False if there is none. */
  end(id: string, ended: NonNullable<SubscriptionProgress["ended"]>): Promise<boolean>;
  /** Saves how far subscriptions have come and what was given up, and deletes others. False if the lease is lost. */
  saveProgress(
    lease: Lease,
    changes: {
      saved: (Pick<Subscription, "id" | "generation" | "progress"> & { abandoned: readonly AbandonedEvent[] })[];
      deleted: Pick<Subscription, "id" | "generation">[];
    },
  ): Promise<boolean>;
}

/** Reads with the same statements in every store. */
export interface PublicationReads {
  state(): Promise<PublicationState>;
  /** By position, after one and up to another; with a name, only those. */
  read(range: { after: number; upTo: number; name?: string; limit: number }): Promise<NumberedPublication[]>;
  /** The id of the publication at a position, also of the last that was deleted; undefined: it is not known. */
  idAt(position: number): Promise<string | undefined>;
  /** Events that were given up for a subscription, newest first; only before a position. */
  listAbandoned(subscription: string, range: { before?: number; limit: number }): Promise<AbandonedEvent[]>;
  /** The first position that was published at or after a time; undefined if there is none. */
  firstSince(at: number): Promise<number | undefined>;
  listUnnumbered(limit: number): Promise<Unnumbered[]>;
  /** One, or all. */
  listTypes(name?: string): Promise<PublishedType[]>;
  /** One, or all. */
  listSubscriptions(id?: string): Promise<Subscription[]>;
  /** Whether the principal has a subscription at the address that was verified before. */
  hasCallback(principal: string, url: string): Promise<boolean>;
}

/** Whether its terms hold, and it has not ended. */
export function isLive({ expiresAt = Infinity, progress }: Subscription, now: number): boolean {
  return expiresAt > now && progress.ended === undefined;
}
