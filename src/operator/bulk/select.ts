import type { EventSummary, Journal } from "../../core/journal/journal.ts";
import { toTurnWord, type RequestFilter, UNFINISHED_WORDS } from "../../core/shared/words.ts";
import { type EventFilter, findEvents } from "../stored-events.ts";

export const BULK_ACTIONS = ["replay", "retry", "drop", "cancel"] as const;
export type BulkAction = (typeof BULK_ACTIONS)[number];

/** The filter of a list of requests, with the kind of what is meant. */
export interface BulkFilter extends Omit<EventFilter, "limit" | "prefix"> {
  kind?: TargetKind;
}

/** request: one whose transform failed, or that has no turn for another cause. */
export const TARGET_KINDS = ["request", "run", "delivery"] as const;
type TargetKind = (typeof TARGET_KINDS)[number];

/** One thing, and what becomes of it. */
export interface Target {
  action: BulkAction;
  kind: TargetKind;
  id: string;
  eventId?: string;
}

export interface Selection {
  /** Newest first. */
  targets: Target[];
  /** There are more. */
  isMore: boolean;
}

export type SelectJournal = Pick<
  Journal,
  "listEvents" | "searchEvents" | "getEvent" | "listDeadLetters" | "listFailedRequests"
>;

/** One action takes no more. */
const MAX_TARGETS = 1000;

/** The newest things that an action would change, of those that were there before `until`. */
export async function selectTargets(
  journal: SelectJournal,
  action: BulkAction,
  filter: BulkFilter,
  until: number,
): Promise<Selection> {
  const { kind, hook, mapping, group, from, to = Infinity, ...facets } = filter;
  const isOfWork = action !== "cancel" && Object.values(facets).every((value) => value === undefined);
  const failed = { hook, mapping, group, from, to: Math.min(to, until) };
  const limit = MAX_TARGETS + 1;
  // Failures have indexes of their own.
  if (isOfWork && kind === "request" && action !== "retry") {
    const requests = await journal.listFailedRequests({ ...failed, limit });
    return cut(requests.map(({ id }) => ({ action, kind: "request", id, eventId: id })));
  }
  if (isOfWork && action !== "replay" && mapping === undefined) {
    const work = kind === "request" ? [] : await listLetters(journal, { action, kind, ...failed, limit });
    const requests =
      kind === undefined && action === "drop" ? await journal.listFailedRequests({ ...failed, limit }) : [];
    const others = requests.map(({ id }): Target => ({ action, kind: "request", id, eventId: id }));
    return cut([...work, ...others].toSorted((one, other) => (one.id < other.id ? 1 : -1)));
  }
  return selectByEvents(journal, action, filter, until);
}

type LetterFilter = Pick<BulkFilter, "hook" | "group" | "from" | "to"> & {
  action: BulkAction;
  kind?: "run" | "delivery";
  limit: number;
};

async function listLetters(
  journal: SelectJournal,
  { action, kind, hook, group, from, to, limit }: LetterFilter,
): Promise<Target[]> {
  const letters = await journal.listDeadLetters({ kind, hook, group, failedFrom: from, failedTo: to, limit });
  return letters.map(({ id, kind: found, eventId }) => ({ action, kind: found, id, eventId }));
}

function cut(targets: Target[]): Selection {
  return { targets: targets.slice(0, MAX_TARGETS), isMore: targets.length > MAX_TARGETS };
}

/** Without another word: those that the action can change. */
const USUAL: Record<BulkAction, RequestFilter> = {
  replay: "failed",
  retry: "failed",
  drop: "failed",
  cancel: "unfinished",
};

const PAGE_SIZE = 500;

async function selectByEvents(
  journal: SelectJournal,
  action: BulkAction,
  { kind, status = USUAL[action], to = Infinity, ...filter }: BulkFilter,
  until: number,
): Promise<Selection> {
  const targets: Target[] = [];
  let { before } = filter;
  do {
    const page = { ...filter, status, to: Math.min(to, until), before, limit: PAGE_SIZE };
    const { events, more } = await findEvents(journal, page);
    for (const event of events) {
      const found = await listTargets(journal, action, event, until);
      targets.push(...found.filter((target) => kind === undefined || target.kind === kind));
      if (targets.length > MAX_TARGETS) return cut(targets);
    }
    before = more ?? (events.length === PAGE_SIZE ? events.at(-1)?.id : undefined);
  } while (before !== undefined);
  return cut(targets);
}

/** A request without a turn is replayed, one with a failed turn or message is retried. */
async function listTargets(
  journal: SelectJournal,
  action: BulkAction,
  event: EventSummary,
  until: number,
): Promise<Target[]> {
  const { id, dead, failureGroup, replayedBy, actions } = event;
  const request: Target = { action, kind: "request", id, eventId: id };
  if (action === "replay" && actions.length === 0) return replayedBy === undefined ? [request] : [];
  if (action === "drop" && failureGroup !== undefined) return dead > 0 ? [request] : [];
  const changes = action === "cancel" ? event.open > 0 : dead > 0;
  const record = changes ? await journal.getEvent(id) : undefined;
  if (!record) return [];
  const { runs, deliveries } = record;
  if (action === "cancel") {
    const open = runs.filter(({ state }) => UNFINISHED_WORDS.some((word) => word === toTurnWord(state)));
    return open.map((run) => ({ action, kind: "run", id: run.id, eventId: id }));
  }
  const own = action === "drop" ? action : "retry";
  return [
    ...runs
      .filter(({ state, finishedAt = 0 }) => state === "dead" && finishedAt < until)
      .map((run): Target => ({ action: own, kind: "run", id: run.id, eventId: id })),
    ...deliveries
      .filter(({ state }) => state === "failed")
      .map((delivery): Target => ({ action: own, kind: "delivery", id: delivery.id, eventId: id })),
  ];
}
