import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { type EventView, call, type RefusalView } from "./api.ts";

/** A request with what has become of it so far. It is changed in place, many times a second. */
export interface Row extends Omit<EventView, "receivedAt"> {
  /** Milliseconds since the epoch. */
  at: number;
  /** Grows with each change. */
  revision: number;
  /** The text that searches compare with; removed with each change. */
  words?: string;
  /** It was refused before its sender was known, and there is no event. */
  refusal?: RefusalView;
}

/** Grows with every frame in which something has changed. */
export const changes = signal(0);
/** live: changes arrive, here or through another tab · lost: the service does not answer. */
export const connection = signal<"connecting" | "live" | "lost">("connecting");

/** How many requests the page keeps; what is older is read from the service again. */
const MAX_ROWS = 5000;
/** Removing rows one by one would copy the list for each. */
const ROWS_AT_ONCE = 500;

/** Oldest first. */
let rows: Row[] = [];
const byId = new Map<string, Row>();
let frame = 0;

export const allRows = (): readonly Row[] => rows;
export const findRow = (id: string): Row | undefined => byId.get(id);

function toRow({ receivedAt, ...event }: EventView): Row {
  return { ...event, at: Date.parse(receivedAt), revision: 0 };
}

function refusalToRow(refusal: RefusalView): Row {
  const { id, at, hook = "", reason, message, hint, repeated = 0 } = refusal;
  const times = repeated > 0 ? ` (${repeated + 1} times)` : "";
  const outcome = `${reason.replaceAll("_", " ")}: ${hint ?? message}${times}`;
  return { id, hook, status: "rejected", at: Date.parse(at), revision: 0, actions: [], outcome, refusal };
}

/** However much arrives, a frame is drawn once. */
function changed(): void {
  frame ||= requestAnimationFrame(() => {
    frame = 0;
    changes.value++;
  });
}

function put(row: Row): void {
  const known = byId.get(row.id);
  if (known) Object.assign(known, row, { revision: known.revision + 1, words: undefined });
  else add(row);
}

function add(row: Row): void {
  byId.set(row.id, row);
  const last = rows.at(-1);
  rows.push(row);
  // Requests that arrive at once may be reported in any order.
  if (last && last.at > row.at) rows.sort((a, b) => a.at - b.at);
  if (rows.length < MAX_ROWS + ROWS_AT_ONCE) return;
  for (const old of rows.splice(0, ROWS_AT_ONCE)) byId.delete(old.id);
}

/** Reads the newest requests: at first, and whenever the stream has a gap. */
async function loadNewest(): Promise<void> {
  const [{ events }, { rejections }] = await Promise.all([
    call("GET /api/events", { limit: 300 }),
    call("GET /api/rejections", { limit: 300 }),
  ]);
  const oldest = Date.parse(events.at(-1)?.receivedAt ?? "") || 0;
  const refused = rejections.map(refusalToRow).filter(({ at }) => events.length < 300 || at >= oldest);
  for (const row of [...events.map(toRow), ...refused].toSorted((a, b) => a.at - b.at)) put(row);
  changed();
}

/* One stream for all tabs: a browser opens only six connections to a host. */

/** What tabs send each other: a message of the stream, or the state of the connection. */
type TabMessage = { name: string; data: string } | { connection: "live" | "lost" } | { asks: true };

const MESSAGES = [
  "ready",
  "gap",
  "event",
  "run",
  "delivery",
  "dead-letter",
  "session",
  "rejection",
  "reload",
  "mailbox",
];
const RETRY_MS = 2000;
const STREAM_LOCK = "hookline stream";

/** Follows the service until the returned function is called. */
export function startLive(): () => void {
  const channel = new BroadcastChannel(STREAM_LOCK);
  const stopped = new AbortController();
  const { signal: stop } = stopped;
  let isLeader = false;
  channel.addEventListener("message", ({ data }: MessageEvent<TabMessage>) => {
    if ("asks" in data) {
      if (isLeader && connection.value !== "connecting") channel.postMessage({ connection: connection.value });
    } else receive(data);
  });
  channel.postMessage({ asks: true });
  loadNewest().catch(() => undefined);
  const lead = (): Promise<void> => {
    isLeader = true;
    return openStream(stop, (message) => {
      receive(message);
      channel.postMessage(message);
    });
  };
  // Over plain http from another machine there are no locks, and each tab has a stream.
  if (navigator.locks) navigator.locks.request(STREAM_LOCK, { signal: stop }, lead).catch(() => undefined);
  else void lead();
  return () => {
    stopped.abort();
    channel.close();
  };
}

/** Resolves when it is stopped. The browser itself opens it again when it breaks, and continues after the last message. */
function openStream(stop: AbortSignal, publish: (message: TabMessage) => void): Promise<void> {
  return new Promise((resolve) => {
    let source: EventSource;
    const open = (): void => {
      source = new EventSource("./api/stream");
      source.addEventListener("open", () => publish({ connection: "live" }));
      source.addEventListener("error", () => {
        publish({ connection: "lost" });
        // The service refused it, so the browser has given up: the sign-in may have ended.
        if (source.readyState !== EventSource.CLOSED || stop.aborted) return;
        setTimeout(() => void call("GET /api/status").then(restart, restart), RETRY_MS);
      });
      for (const name of MESSAGES) {
        source.addEventListener(name, ({ data }: MessageEvent<string>) => publish({ name, data }));
      }
    };
    const restart = (): void => {
      if (stop.aborted) return;
      open();
      loadNewest().catch(() => undefined);
    };
    stop.addEventListener("abort", () => {
      source.close();
      resolve();
    });
    open();
  });
}

function receive(message: TabMessage): void {
  if ("connection" in message) connection.value = message.connection;
  else if ("name" in message) take(message.name, message.data);
}

function take(name: string, data: string): void {
  if (name === "event") put(toRow(JSON.parse(data)));
  else if (name === "rejection") put(refusalToRow(JSON.parse(data)));
  // Read what happened before the stream began, or while nobody listened.
  else if (name === "gap" || name === "ready") loadNewest().catch(() => undefined);
  changed();
}

/* Requests that the page does not keep. */

export const FILTERS = ["hook", "mapping", "status", "session", "text"] as const;
export type Filter = { [Name in (typeof FILTERS)[number]]?: string };

const STORED_AT_ONCE = 100;
/** A search reads every payload; that of a word which is still being typed is not worth it. */
const TYPING_MS = 250;
/** How often the page asks the service for more before a person has to. */
const MAX_SEARCHES = 10;

interface Stored {
  rows: Row[];
  state: "more" | "paused" | "complete";
  load(): void;
  resume(): void;
}

/** Matching requests that only the service knows: older ones, and with a text those whose payloads hold it. */
export function useStored({ text, ...filter }: Filter): Stored {
  const [found, setFound] = useState<Pick<Stored, "rows" | "state">>({ rows: [], state: "more" });
  const cursor = useRef<string | undefined>(undefined);
  const searches = useRef(0);
  const isBusy = useRef(false);
  const [isTyped, setTyped] = useState(text === undefined);
  useEffect(() => {
    const timer = setTimeout(() => setTyped(true), TYPING_MS);
    return () => clearTimeout(timer);
  }, []);
  return {
    ...found,
    load() {
      if (found.state !== "more" || isBusy.current || !isTyped) return;
      isBusy.current = true;
      searches.current++;
      const newest = text === undefined ? allRows().find(({ refusal }) => !refusal)?.id : undefined;
      call("GET /api/events", { ...filter, q: text, before: cursor.current ?? newest, limit: STORED_AT_ONCE })
        .then(({ events, more = events.length === STORED_AT_ONCE ? events.at(-1)?.id : undefined }) => {
          cursor.current = more;
          isBusy.current = false;
          const isPaused = events.length === 0 && searches.current >= MAX_SEARCHES;
          const state = more === undefined ? "complete" : isPaused ? "paused" : "more";
          return setFound((before) => ({ rows: [...before.rows, ...events.map(toRow)], state }));
        })
        .catch(() => setFound((before) => ({ ...before, state: "complete" })));
    },
    resume() {
      searches.current = 0;
      setFound((before) => ({ ...before, state: "more" }));
    },
  };
}
