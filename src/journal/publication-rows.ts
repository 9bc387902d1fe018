import {
  isLive,
  MAX_SUBSCRIPTIONS,
  type Subscription,
  type SubscriptionProgress,
  type SubscriptionTerms,
} from "./publications.ts";
import type { NewPublication } from "./records/event.ts";
import { type Row, text } from "./rows.ts";

/** The row of a subscription, in both stores. */
export function toSubscriptionRow(
  terms: SubscriptionTerms,
  generation: string,
  progress: SubscriptionProgress,
): Record<"id" | "generation" | "principal" | "url" | "terms" | "progress", string> {
  const { id, principal, url } = terms;
  return { id, generation, principal, url, terms: JSON.stringify(terms), progress: JSON.stringify(progress) };
}

export function toSubscription(row: Row): Subscription {
  const terms: SubscriptionTerms = JSON.parse(text(row.terms));
  return { ...terms, generation: text(row.generation), progress: JSON.parse(text(row.progress)) };
}

/** What a new subscription under the id of an earlier one becomes. `row`: the earlier one. */
export function planSubscribe(
  row: Row | undefined,
  terms: SubscriptionTerms,
  { principal, all }: { principal: number; all: number },
): "refresh" | "replace" | { kind: "full"; max: number } {
  if (row && isLive(toSubscription(row), terms.refreshedAt)) return "refresh";
  if (principal >= MAX_SUBSCRIPTIONS.principal) return { kind: "full", max: MAX_SUBSCRIPTIONS.principal };
  return all >= MAX_SUBSCRIPTIONS.all ? { kind: "full", max: MAX_SUBSCRIPTIONS.all } : "replace";
}

/** The columns of a publication but `seq` and `position`. */
export function toPublicationRow({ id, name, arguments: args, data, at, via }: NewPublication): Row {
  return { id, name, arguments: JSON.stringify(args), data: data ?? null, at, via: JSON.stringify(via) };
}
