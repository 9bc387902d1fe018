import type { Block, Fact, WordsOf } from "../../core/approvals/question/card.ts";

/** The parts of the inbox, in their order. */
export const INBOX_PARTS = ["decide", "down", "failed", "waiting", "unknown", "left"] as const;
export type InboxPart = (typeof INBOX_PARTS)[number];

/** The heading of each part. */
export const INBOX_PART_NAMES: Readonly<Record<InboxPart, string>> = {
  decide: "Decide",
  down: "Down",
  failed: "Failed",
  waiting: "Waiting",
  unknown: "Unknown",
  left: "Left out by from and place, last 24 h",
};

/** Something that waits for a person, or did. */
export interface InboxItem {
  /** The same as long as its cause is the same. */
  id: string;
  part: InboxPart;
  title: string;
  subject?: string;
  /** In ISO 8601, as all times of an item. */
  since: string;
  /** When it ends by itself. */
  until?: string;
  ended?: { at: string; by?: string; word: string };
  /** How many things it stands for. */
  count?: number;
  blocks: Block[];
  actions: InboxAction[];
}

/** A call of the operator API that treats the item. */
interface InboxAction {
  id: string;
  label: string;
  method: "POST" | "DELETE";
  path: string;
  body?: object;
}

/** Items of one cause come one below the other: by part, questions whose outcome nobody knows first, then the newest. */
export function toOrder(items: readonly InboxItem[]): InboxItem[] {
  return items.toSorted(
    (one, other) =>
      INBOX_PARTS.indexOf(one.part) - INBOX_PARTS.indexOf(other.part) ||
      compareWithin(one, other) ||
      compare(one.id, other.id),
  );
}

/** Questions by their end, those without one first; the others by their age. */
function compareWithin(one: InboxItem, other: InboxItem): number {
  return one.part === "decide"
    ? compare(one.until ?? "", other.until ?? "") || compare(one.since, other.since)
    : compare(other.since, one.since);
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** Where the page shows what the item stands for. A place: `activity?status=failed`. */
export function toLinks(places: Record<string, string | undefined>): Block[] {
  const rows = Object.entries(places).flatMap(([value, place]): Fact[] =>
    place === undefined ? [] : [{ value, place }],
  );
  return [{ part: "about", kind: "facts", from: "service", rows }];
}

/** Everything that came and was done, under a filter. */
export function toActivity(filter: Record<string, string | undefined>): string {
  const given = Object.entries(filter).flatMap(([name, value]): [string, string][] => (value ? [[name, value]] : []));
  return `activity?${new URLSearchParams(given).toString()}`;
}

export function toMappingPlace(mapping: string): string {
  return `mappings/${encodeURIComponent(mapping)}`;
}

/** Facts about an item. Those without a value are left out. */
export function toFacts(from: WordsOf, facts: Record<string, string | number | undefined>): Block[] {
  const rows = Object.entries(facts).flatMap(([name, value]): Fact[] =>
    value === undefined || value === "" ? [] : [{ name, value: String(value) }],
  );
  return rows.length === 0 ? [] : [{ part: "about", kind: "facts", from, rows }];
}
