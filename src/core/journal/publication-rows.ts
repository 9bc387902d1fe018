import type { Subscription, SubscriptionTerms } from "./publications.ts";
import type { NewPublication } from "./records/event.ts";
import { type Row, text } from "./rows.ts";

export function toSubscription(row: Row): Subscription {
  const terms: SubscriptionTerms = JSON.parse(text(row.terms));
  return { ...terms, generation: text(row.generation), progress: JSON.parse(text(row.progress)) };
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
