import type { PublicationState, Subscription } from "../core/journal/journal.ts";
import { REDACTED } from "../core/shared/secret.ts";

/** active: delivers · suspended: until the subscriber asks again · ended: the subscriber gets a last message · expired: it was not refreshed. */
type SubscriptionState = "active" | "suspended" | "ended" | "expired";

/** A subscription without its secrets. */
export interface SubscriptionRow extends Pick<
  Subscription,
  "id" | "principal" | "arguments" | "createdAt" | "refreshedAt" | "expiresAt"
> {
  event: string;
  /** Without its query, which may hold a key. */
  url: string;
  state: SubscriptionState;
  /** How many publications are behind its cursor, those for others included. */
  behind: number;
  failingSince?: number;
  suspendedAt?: number;
  lastDeliveryAt?: number;
  lastError?: string;
  /** How many events were given up. */
  abandonedCount: number;
}

export function toSubscriptionRow(
  subscription: Subscription,
  { position }: PublicationState,
  now: number,
): SubscriptionRow {
  const { id, principal, name: event, arguments: args, url, createdAt, refreshedAt, expiresAt } = subscription;
  const { acked, failingSince, suspendedAt, lastDeliveryAt, lastError, abandonedCount } = subscription.progress;
  return {
    id,
    principal,
    event,
    arguments: args,
    url: url.replace(/\?.*$/, `?${REDACTED}`),
    state: toState(subscription, now),
    behind: Math.max(0, position - acked),
    createdAt,
    refreshedAt,
    expiresAt,
    failingSince,
    suspendedAt,
    lastDeliveryAt,
    lastError,
    abandonedCount,
  };
}

function toState({ progress, refreshedAt, expiresAt = Infinity }: Subscription, now: number): SubscriptionState {
  if (progress.ended) return "ended";
  if (expiresAt <= now) return "expired";
  return progress.suspendedAt !== undefined && progress.suspendedAt >= refreshedAt ? "suspended" : "active";
}
