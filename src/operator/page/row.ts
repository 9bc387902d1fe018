import { isRequest } from "../../core/shared/words.ts";
import type { EventView, RefusalView } from "./api-client.ts";

/** A request with what has become of it so far. A change replaces it. */
export interface Row extends Omit<EventView, "receivedAt"> {
  /** Milliseconds since the epoch. */
  at: number;
  /** Grows with each change in any row. */
  revision: number;
  /** The text that searches compare with. */
  words?: string;
  /** A request that was refused before its sender was known: there is no event. */
  refusal?: RefusalView;
}

/** Filters that only the service can apply. */
const SEARCHED = ["text", "credential", "model", "channel", "group"] as const;
export const FILTERS = ["hook", "mapping", "status", "session", "from", "to", "event", ...SEARCHED] as const;
export type Filter = { [Name in (typeof FILTERS)[number]]?: string };

/** Whether the service has to look for the requests: else the page knows which of its rows match. */
export function isSearched(filter: Filter): boolean {
  return SEARCHED.some((name) => filter[name] !== undefined);
}

export function toRow({ receivedAt, ...event }: EventView): Row {
  return { ...event, at: Date.parse(receivedAt), revision: 0 };
}

export function refusalToRow(refusal: RefusalView): Row {
  const { id, at, hook = "", message, hint, repeated = 0 } = refusal;
  const times = repeated > 0 ? ` (${repeated + 1} times)` : "";
  const outcome = `${hint ?? message}${times}`;
  return { id, hook, status: "refused", at: Date.parse(at), revision: 0, actions: [], outcome, refusal };
}

export function matchesFields(row: Row, { hook, mapping, status, session, event, from, to }: Filter): boolean {
  if (event !== undefined && row.event !== event) return false;
  if (from !== undefined && row.at < Date.parse(from)) return false;
  if (to !== undefined && row.at >= Date.parse(to)) return false;
  if (hook !== undefined && row.hook !== hook) return false;
  if (mapping !== undefined && row.mapping !== mapping) return false;
  if (status !== undefined && !isRequest(row.status, status)) return false;
  return session === undefined || row.actions.some(({ sessionKey }) => sessionKey === session);
}

/** Without the payload, which only the service knows. */
export function matchesText(row: Row, { text, credential, model, channel, group }: Filter): boolean {
  if ((credential ?? model ?? channel ?? group) !== undefined) return false;
  return text === undefined || (row.words ??= wordsOf(row)).includes(text.toLowerCase());
}

function wordsOf({ id, hook, mapping = "", event = "", subject = "", actions, outcome, refusal }: Row): string {
  const keys = actions.map(({ sessionKey = "", runId = "" }) => `${sessionKey} ${runId}`);
  return [id, hook, mapping, event, subject, outcome, refusal?.reason ?? "", refusal?.client ?? "", ...keys]
    .join("\n")
    .toLowerCase();
}
