import type { Subscription, SubscriptionTerms } from "./publications.ts";
import type { NewPublication } from "./records/event.ts";
import { type Row, text } from "./columns.ts";

export function toSubscription(row: Row): Subscription {
  const terms: SubscriptionTerms = JSON.parse(text(row.terms));
  return { ...terms, generation: text(row.generation), progress: JSON.parse(text(row.progress)) };
}

/** The kind of the notes about events that were given up for a subscription. */
export const ABANDONED = "abandoned";

/** In the order of their positions. */
export function toAbandonedKey(subscription: string, position: number): string {
  return `${subscription}/${String(position).padStart(16, "0")}`;
}

/** Below and above all keys of a subscription, or of what it has before a position. */
export function toAbandonedRange(subscription: string, before?: number): [from: string, to: string] {
  return [`${subscription}/`, before === undefined ? `${subscription}/~` : toAbandonedKey(subscription, before)];
}

/** The columns of a publication but `seq` and `position`. */
export function toPublicationRow({
  id,
  name,
  arguments: args,
  data,
  at,
  via,
}: NewPublication): Record<"id" | "name" | "arguments" | "via", string> & Pick<NewPublication, "data" | "at"> {
  return { id, name, arguments: JSON.stringify(args), data, at, via: JSON.stringify(via) };
}
