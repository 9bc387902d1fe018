import type { EventView, RefusalView } from "./api-client.ts";
import { type Filter, isSearched, matchesFields, matchesText, refusalToRow, type Row, toRow } from "./row.ts";

/** Reads from the service, newest first. */
export interface FeedSource {
  readEvents(
    query: Omit<Filter, "text"> & { q?: string; before?: string; limit: number },
  ): Promise<{ events: EventView[]; more?: string; searched?: number; searchedTo?: string }>;
  readRefusals(): Promise<RefusalView[]>;
}

/**
 * loading: nothing is known yet · more: there may be older requests · paused: a search found nothing for a while, and a person has to
 * say that it should go on · complete · failed: see `problem`.
 */
type FeedState = "loading" | "more" | "paused" | "complete" | "failed";

/** All requests under one filter. Whatever order pages, messages and gaps come in, none is in it twice and none is missing. */
export interface Feed {
  /** Reads the newest requests: at the start, and after a gap in the stream, when what is known may be outdated. */
  restart(): void;
  /** From the stream: a new request, or a new state of one. */
  addEvent(event: EventView): void;
  addRefusal(refusal: RefusalView): void;
  setFilter(filter: Filter): void;
  /** The rows that are known, under the filter, newest first. */
  list(): Row[];
  /** Without the filter. */
  listAll(): Row[];
  find(id: string): Row | undefined;
  state(): FeedState;
  /** How many events the service has looked at for the filter, and how far back; undefined: it did not have to. */
  progress(): { searched: number; searchedTo: string } | undefined;
  /** Why the last read failed. */
  problem(): string | undefined;
  /** Reads what has to be read: with `isOlderWanted` also older requests. */
  read(isOlderWanted: boolean): void;
  /** After `paused` or `failed`. */
  resume(): void;
}

interface FeedOptions {
  source: FeedSource;
  onChange(): void;
  /** How many events the first page has. */
  newest?: number;
  /** How many events a further page has. */
  page?: number;
  /** How many events are kept while new ones arrive; what is older is read again. */
  kept?: number;
  /** Calls back when new events may be searched again: a search reads payloads, so that they are searched together. */
  wait?(callback: () => void): unknown;
}

/** Every id is greater: there is nothing older. */
const BEGINNING = "";
/** The number that the service keeps. */
const MAX_REFUSALS = 500;
/** How often the feed searches for more before a person has to ask for it: each time for a tenth of a second. */
const MAX_SEARCHES = 600;
const SEARCH_MS = 1000;

/** The events that have been read for a filter. */
interface View {
  /** All events under the filter from this id on are known. undefined: those since `floor`. */
  cursor?: string;
  /** Events whose payloads contain the text, as the service says. */
  found: Set<string>;
  /** New events whose payloads have not been searched, with the moment of their last change. */
  unsearched: Map<string, number>;
  /** Where the search of the new events continues. */
  newCursor?: string;
  isSearchDue: boolean;
  searches: number;
  searched: number;
  searchedTo?: string;
  isReading: boolean;
  isPaused: boolean;
}

export function createFeed({
  source,
  onChange,
  newest = 300,
  page = 100,
  kept = 5000,
  wait = (callback) => setTimeout(callback, SEARCH_MS),
}: FeedOptions): Feed {
  const rows = new Map<string, Row>();
  /** They sort by time. Oldest first. */
  let ids: string[] = [];
  /** Ids of refused requests. */
  let refusals: string[] = [];
  /** All events from this id on are known. undefined: the first answer has not come. */
  let floor: string | undefined;
  let filter: Filter = {};
  let view = createView();
  /** How many events a person has asked for beyond those that are kept. */
  let wanted = 0;
  let restarts = 0;
  let isRestarting = false;
  /** Counts changes: what the stream brought while something was read is newer than what was read. */
  let clock = 0;
  let failure: { problem: string; ofRestart: boolean } | undefined;

  return {
    restart: () => void restart(),
    addEvent(event) {
      const before = rows.get(event.id);
      const row = put(toRow(event));
      const isNew = !before || !matchesFields(before, filter);
      if (isNew && matchesFields(row, filter) && !matchesText(row, filter)) view.unsearched.set(row.id, clock);
      trim();
      onChange();
    },
    addRefusal(refusal) {
      put(refusalToRow(refusal));
      onChange();
    },
    setFilter(next) {
      if (JSON.stringify(next) === JSON.stringify(filter)) return;
      filter = next;
      view = createView();
      wanted = 0;
      if (!failure?.ofRestart) failure = undefined;
    },
    list,
    listAll: () => ids.map((id) => rows.get(id)!).toReversed(),
    find: (id) => rows.get(id),
    state,
    progress: () =>
      view.searchedTo === undefined ? undefined : { searched: view.searched, searchedTo: view.searchedTo },
    problem: () => failure?.problem,
    read(isOlderWanted) {
      if (floor === undefined || view.isReading || failure) return;
      if (view.unsearched.size > 0 && view.isSearchDue) void searchNew();
      else if (isOlderWanted && state() === "more") void readOlder();
    },
    resume() {
      const isRestartWanted = failure?.ofRestart;
      failure = undefined;
      Object.assign(view, { isPaused: false, searches: 0 });
      if (isRestartWanted) void restart();
      onChange();
    },
  };

  async function restart(): Promise<void> {
    const turn = ++restarts;
    const since = clock;
    isRestarting = true;
    let read: [{ events: EventView[] }, RefusalView[]];
    try {
      read = await Promise.all([source.readEvents({ limit: newest }), source.readRefusals()]);
    } catch (error) {
      if (turn === restarts) fail(error, true);
      return;
    }
    if (turn !== restarts) return;
    const [{ events }, refused] = read;
    remove(({ revision }) => revision <= since);
    for (const row of [...events.map(toRow), ...refused.map(refusalToRow)]) putRead(row, since);
    floor = (events.length === newest && events.at(-1)?.id) || BEGINNING;
    view = createView();
    wanted = 0;
    failure = undefined;
    isRestarting = false;
    onChange();
  }

  /** Reads the page below what is known. */
  function readOlder(): Promise<void> {
    return readPage(
      view.cursor ?? (isSearched(filter) ? undefined : floor),
      (count, end, { searched = 0, searchedTo }) => {
        view.cursor = end;
        wanted += count;
        view.searched += searched;
        view.searchedTo = searchedTo ?? view.searchedTo;
        view.isPaused = count === 0 && ++view.searches >= MAX_SEARCHES;
      },
    );
  }

  /** Looks for the text in the payloads of the events that came since the search began. */
  function searchNew(): Promise<void> {
    const mine = view;
    mine.isSearchDue = false;
    wait(() => {
      mine.isSearchDue = true;
      onChange();
    });
    return readPage(mine.newCursor, (_count, end) => {
      mine.newCursor = [...mine.unsearched.keys()].some((id) => id < end) ? end : undefined;
    });
  }

  /** `use` gets the size of the page, and the id down to which the service has looked. */
  async function readPage(
    before: string | undefined,
    use: (count: number, end: string, progress: { searched?: number; searchedTo?: string }) => void,
  ): Promise<void> {
    const mine = view;
    const since = clock;
    const turn = restarts;
    const isCurrent = (): boolean => mine === view && turn === restarts;
    mine.isReading = true;
    try {
      const { text: q, ...fields } = filter;
      const { events, more, ...progress } = await source.readEvents({ ...fields, q, before, limit: page });
      if (!isCurrent()) return;
      const end = more ?? ((events.length === page && events.at(-1)?.id) || BEGINNING);
      for (const event of events) {
        putRead(toRow(event), since);
        if (isSearched(filter)) view.found.add(event.id);
      }
      for (const [id, came] of view.unsearched) {
        if (came <= since && id >= end && (before === undefined || id < before)) view.unsearched.delete(id);
      }
      use(events.length, end, progress);
    } catch (error) {
      if (isCurrent()) fail(error, false);
    } finally {
      mine.isReading = false;
      onChange();
    }
  }

  function fail(error: unknown, ofRestart: boolean): void {
    failure = { problem: error instanceof Error ? error.message : String(error), ofRestart };
    isRestarting = false;
    onChange();
  }

  function list(): Row[] {
    if (floor === undefined) return [];
    const end = view.cursor !== undefined && view.cursor < floor ? view.cursor : floor;
    const isListed = (row: Row): boolean =>
      matchesFields(row, filter) && (view.found.has(row.id) || (row.id >= end && matchesText(row, filter)));
    const listed: Row[] = [];
    for (let index = ids.length - 1; index >= 0; index--) {
      const row = rows.get(ids[index]!)!;
      if (isListed(row)) listed.push(row);
    }
    return listed;
  }

  function state(): FeedState {
    if (failure) return "failed";
    if (floor === undefined) return "loading";
    if (view.isPaused) return "paused";
    return (view.cursor ?? (isSearched(filter) ? undefined : floor)) === BEGINNING ? "complete" : "more";
  }

  function putRead(row: Row, since: number): void {
    if ((rows.get(row.id)?.revision ?? 0) <= since) put(row);
  }

  function put(row: Row): Row {
    if (!rows.has(row.id)) {
      // Most are newer than all others.
      let place = ids.length;
      while (place > 0 && ids[place - 1]! > row.id) place--;
      ids.splice(place, 0, row.id);
      if (row.refusal && refusals.push(row.id) > MAX_REFUSALS) {
        const [oldest] = refusals.toSorted();
        remove(({ id }) => id === oldest);
      }
    }
    const changed = { ...row, revision: ++clock };
    rows.set(row.id, changed);
    return changed;
  }

  function remove(isGone: (row: Row) => boolean): void {
    for (const row of rows.values()) if (isGone(row)) rows.delete(row.id);
    ids = ids.filter((id) => rows.has(id));
    refusals = refusals.filter((id) => rows.has(id));
  }

  /** Forgets the oldest events: they are read again when somebody wants to see them. */
  function trim(): void {
    // The answer that is awaited may be older than what would be forgotten.
    if (floor === undefined || isRestarting) return;
    if (ids.length - refusals.length <= (kept + wanted) * 1.1) return;
    const events = ids.filter((id) => !rows.get(id)?.refusal);
    const [oldest = BEGINNING] = events.slice(-kept);
    remove((row) => row.id < oldest && !row.refusal);
    if (oldest > floor) floor = oldest;
    view = { ...createView(), found: view.found, unsearched: view.unsearched };
    wanted = 0;
  }
}

function createView(): View {
  const counts = { searches: 0, searched: 0 };
  return { found: new Set(), unsearched: new Map(), isSearchDue: true, ...counts, isReading: false, isPaused: false };
}
