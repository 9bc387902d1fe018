import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { changes, feed } from "../live.ts";
import { State, Time } from "../parts/controls.tsx";
import { formatMs, formatNumber, outcomeBeside, toLine, toneOf, toWholeTime, toZone } from "../parts/format.ts";
import { Failure, useCall } from "../parts/load.tsx";
import { hrefTo } from "../router.ts";
import { type Filter, isSearched, type Row } from "../row.ts";

const OVERSCAN = 8;
const NARROW = matchMedia("(max-width: 1000px)");
/** The search of a text that is still being typed is not worth its cost. */
const TYPING_MS = 250;

/** Draws only the rows that are in view. It does not move while it is pointed at, scrolled or focused. */
export function RequestList({ filter }: { filter: Filter }): JSX.Element {
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const [isHeld, setHeld] = useState(false);
  const held = useRef<Row[]>(undefined);
  const isTyped = useIsTyped(filter);
  void changes.value;

  feed.setFilter(filter);
  const rows = feed.list();
  const state = feed.state();
  const isStill = rows.length > 0 && (isHeld || view.top > 0);
  if (!isStill) held.current = undefined;
  else held.current ??= rows;
  const { shown, waiting } = hold(rows, held.current);

  const items = withDays(shown);
  const rowHeight = NARROW.matches ? 54 : 30;
  const first = Math.max(0, Math.floor(view.top / rowHeight) - OVERSCAN);
  const last = Math.min(items.length, Math.ceil((view.top + view.height) / rowHeight) + OVERSCAN);
  const isNearEnd = last > items.length - OVERSCAN;
  // Each answer draws the list again, so that this goes on until there are enough, or no more.
  useEffect(() => {
    if (isTyped) feed.read(isNearEnd);
  });
  useEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    const measure = (): void => setView({ top: element.scrollTop, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, []);

  return (
    <div class="list">
      <Progress filter={filter} count={shown.length} />
      <p class="days quiet">
        {shown.length > 0 && `${DAY.format(dayAt(items, view.top / rowHeight))}, times in ${toZone()}`}
      </p>
      <p class="liveness" role="status">
        {isStill && waiting > 0 ? (
          <button
            onClick={() => {
              setHeld(false);
              scroller.current?.scrollTo({ top: 0 });
            }}
          >
            Paused: {waiting} new
          </button>
        ) : null}
      </p>
      <div
        class="scroller"
        ref={scroller}
        onPointerMove={(event) => event.pointerType === "mouse" && setHeld(true)}
        onPointerLeave={() => setHeld(scroller.current?.contains(document.activeElement) ?? false)}
        onFocusIn={() => setHeld(true)}
        onFocusOut={() => setHeld(scroller.current?.matches(":hover") ?? false)}
      >
        {shown.length === 0 && state !== "paused" && state !== "failed" ? (
          <p class={state === "complete" ? "empty" : "empty loading"}>
            {state !== "complete"
              ? "Searching…"
              : Object.keys(filter).length > 0
                ? "No request matches this filter."
                : "No request has come yet."}
          </p>
        ) : (
          <ol style={{ height: `${items.length * rowHeight}px` }}>
            {items.slice(first, last).map((item, index) => {
              const top = (first + index) * rowHeight;
              const style = { transform: `translateY(${top}px)` };
              if (!("day" in item))
                return (
                  <li key={item.id} style={style} aria-setsize={items.length} aria-posinset={first + index + 1}>
                    <Line row={item} />
                  </li>
                );
              return (
                <li key={item.day} class="day" style={style}>
                  <time dateTime={new Date(item.day).toISOString()}>{DAY.format(item.day)}</time>
                </li>
              );
            })}
          </ol>
        )}
        {state === "paused" && (
          <p class="older">
            <button onClick={feed.resume}>Search older requests</button>
          </p>
        )}
        {state === "failed" && (
          <div class="older">
            <Failure text={feed.problem() ?? ""} retry={feed.resume} />
          </div>
        )}
      </div>
    </div>
  );
}

/** How far a search has come. */
function Progress({ filter, count }: { filter: Filter; count: number }): JSX.Element | null {
  const { data } = useCall("GET /api/status");
  const progress = feed.progress();
  if (!isSearched(filter) || !progress) return null;
  const isComplete = feed.state() === "complete";
  return (
    <p class="progress quiet" role="status">
      {isComplete ? "Searched all" : "Searched"} {formatNumber(progress.searched)}
      {!isComplete && data && ` of ${formatNumber(data.queue.events)}`} requests
      {!isComplete && <Time at={progress.searchedTo} before=", back to" />}: {formatNumber(count)} found
    </p>
  );
}

/** The rows, with a heading where another day begins; today has none. */
function withDays(rows: readonly Row[]): (Row | { day: number })[] {
  const items: (Row | { day: number })[] = [];
  let end = Infinity;
  let day = startOfDay(Date.now());
  for (const row of rows) {
    if (row.at < day) {
      day = startOfDay(row.at);
      if (day < end) items.push({ day });
      end = day;
    }
    items.push(row);
  }
  return items;
}

/** The day of the first row that is in view. */
function dayAt(items: readonly (Row | { day: number })[], place: number): number {
  const item = items[Math.min(Math.floor(place), items.length - 1)];
  return item === undefined ? Date.now() : "day" in item ? item.day : item.at;
}

/** In the zone of this browser. */
function startOfDay(at: number): number {
  return new Date(at).setHours(0, 0, 0, 0);
}

const DAY = new Intl.DateTimeFormat("en", { weekday: "long", day: "numeric", month: "long", year: "numeric" });

function Line({ row }: { row: Row }): JSX.Element {
  const { id, at, hook, mapping, event, subject, status, refusal, replayOf, outcome, durationMs } = row;
  const what = (
    <>
      {replayOf && <span class="quiet">replay </span>}
      <b>{toLine(hook, 60) || "no hook"}</b>
      {mapping !== undefined && mapping !== hook && <span class="quiet"> {toLine(mapping, 60)}</span>}
      {event !== undefined && <span> {toLine(event, 80)}</span>}
    </>
  );
  return (
    <a data-row={id} data-event={refusal ? undefined : id} href={hrefTo(["events", id])}>
      <span class="subject">{subject === undefined ? what : toLine(subject, 200)}</span>
      <State state={status} />
      <span class="what">{subject !== undefined && what}</span>
      <span class={`outcome ${isPlain(status) ? "" : toneOf(status)}`}>
        {toLine(outcomeBeside(status, outcome), 200)}
      </span>
      <span class="duration">{durationMs === undefined ? "" : formatMs(durationMs)}</span>
      <time dateTime={new Date(at).toISOString()} title={toWholeTime(at)}>
        {clock(at)}
      </time>
    </a>
  );
}

/** Only what needs attention is colored twice. */
const isPlain = (status: string): boolean => ["done", "waiting", "running"].includes(status);

/** Making a text of a date is slow, and most rows are of the same second. */
function clock(at: number): string {
  if (Math.floor(at / 1000) !== lastSecond.at) {
    lastSecond.at = Math.floor(at / 1000);
    lastSecond.text = new Date(at).toTimeString().slice(0, 8);
  }
  return `${lastSecond.text}.${String(at % 1000).padStart(3, "0")}`;
}
const lastSecond = { at: 0, text: "" };

function useIsTyped(filter: Filter): boolean {
  const [isTyped, setTyped] = useState(!isSearched(filter));
  useEffect(() => {
    const timer = setTimeout(() => setTyped(true), TYPING_MS);
    return () => clearTimeout(timer);
  }, []);
  return isTyped;
}

/** The rows that are held, each as it is now, with those that have been found below them, but without newer ones. */
function hold(rows: Row[], held: Row[] | undefined): { shown: Row[]; waiting: number } {
  const [newest] = held ?? [];
  if (!held || !newest) return { shown: rows, waiting: 0 };
  const below = rows.filter(({ id }) => id <= newest.id);
  const byId = new Map([...held, ...below].map((row) => [row.id, feed.find(row.id) ?? row]));
  return { shown: [...byId.values()].toSorted((a, b) => (a.id < b.id ? 1 : -1)), waiting: rows.length - below.length };
}
