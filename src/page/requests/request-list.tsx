import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { call } from "../api.ts";
import { allRows, changes, type Filter, findRow, type Row, useStored } from "../live.ts";
import { Copy, formatMs, State, toLine, toneOf } from "../parts/controls.tsx";
import { useLoad } from "../parts/load.tsx";
import { hrefTo } from "../router.ts";

const OVERSCAN = 8;
const NARROW = matchMedia("(max-width: 760px)");

/** Draws only the rows that are in view. It does not move while it is pointed at, scrolled or focused. */
export function RequestList({ filter }: { filter: Filter }): JSX.Element {
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const [isHeld, setHeld] = useState(false);
  const held = useRef<Row[]>(undefined);
  const stored = useStored(filter);
  void changes.value;

  const live = select(filter);
  const isStill = live.length > 0 && (isHeld || view.top > 0);
  if (!isStill) held.current = undefined;
  else held.current ??= live;
  const shown = merge(held.current ?? live, stored.rows, filter);
  const waiting = held.current ? countNewer(live, held.current[0]) : 0;

  const rowHeight = NARROW.matches ? 54 : 30;
  const first = Math.max(0, Math.floor(view.top / rowHeight) - OVERSCAN);
  const last = Math.min(shown.length, Math.ceil((view.top + view.height) / rowHeight) + OVERSCAN);
  const isNearEnd = last > shown.length - OVERSCAN;
  // Each answer changes the state of `stored`, so that this goes on until there are enough, or no more.
  useEffect(() => {
    if (isNearEnd) stored.load();
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
      <p class="liveness" role="status">
        {isStill && waiting > 0 ? (
          <button
            type="button"
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
        {shown.length === 0 && stored.state !== "paused" ? (
          <Nothing filter={filter} isComplete={stored.state === "complete"} />
        ) : (
          <ol style={{ height: `${shown.length * rowHeight}px` }}>
            {shown.slice(first, last).map((row, index) => (
              <Line
                key={row.id}
                row={row}
                top={(first + index) * rowHeight}
                place={first + index + 1}
                count={shown.length}
              />
            ))}
          </ol>
        )}
        {stored.state === "paused" && (
          <p class="older">
            <button type="button" onClick={stored.resume}>
              Search older requests
            </button>
          </p>
        )}
      </div>
    </div>
  );
}

interface LineProps {
  row: Row;
  top: number;
  place: number;
  count: number;
}

function Line({ row, top, place, count }: LineProps): JSX.Element {
  const { id, at, hook, mapping, event, status, refusal, replayOf, outcome, durationMs } = row;
  const content = (
    <>
      <time dateTime={new Date(at).toISOString()} title={new Date(at).toISOString()}>
        {clock(at)}
      </time>
      <State state={refusal ? "refused" : status} />
      <span class="what">
        {replayOf && <span class="quiet">replay </span>}
        <b>{toLine(hook, 60) || "no hook"}</b>
        {mapping !== undefined && mapping !== hook && <span class="quiet"> {toLine(mapping, 60)}</span>}
        {event !== undefined && <span> {toLine(event, 80)}</span>}
      </span>
      <span class={`outcome ${isPlain(status) ? "" : toneOf(status)}`}>{toLine(outcome)}</span>
      <span class="took">{durationMs === undefined ? "" : formatMs(durationMs)}</span>
    </>
  );
  return (
    <li style={{ transform: `translateY(${top}px)` }} aria-setsize={count} aria-posinset={place}>
      <a
        data-row={id}
        data-event={refusal ? undefined : id}
        href={refusal ? hrefTo(["rejections"]) : hrefTo(["events", id])}
      >
        {content}
      </a>
    </li>
  );
}

/** Only what needs attention is coloured twice. */
const isPlain = (status: string): boolean => status === "done" || status === "accepted";

/** Making a text of a date is slow, and most rows are of the same second. */
function clock(at: number): string {
  if (Math.floor(at / 1000) !== lastSecond.at) {
    lastSecond.at = Math.floor(at / 1000);
    lastSecond.text = new Date(at).toTimeString().slice(0, 8);
  }
  return `${lastSecond.text}.${String(at % 1000).padStart(3, "0")}`;
}
const lastSecond = { at: 0, text: "" };

function Nothing({ filter, isComplete }: { filter: Filter; isComplete: boolean }): JSX.Element {
  if (!isComplete) return <p class="empty loading">Searching…</p>;
  if (Object.keys(filter).length > 0) return <p class="empty">No request matches this filter.</p>;
  return <FirstHook />;
}

/** Before the first request: the command that sends one to a hook of this configuration. */
function FirstHook(): JSX.Element {
  const { data } = useLoad("mappings", () => call("GET /api/mappings"));
  const open = data?.mappings.find(({ url, auth }) => url !== undefined && auth === undefined);
  const address = open?.url ?? `${data?.hooksUrl ?? ""}/wake`;
  const command = [
    `curl ${address}`,
    `-H "Authorization: Bearer $HOOK_TOKEN"`,
    `-H "Content-Type: application/json"`,
    `-d '${open ? "{}" : '{"text":"Hello"}'}'`,
  ].join(" \\\n  ");
  return (
    <div class="empty">
      <p>No request has come yet. Send the first one:</p>
      <pre>{command}</pre>
      <Copy text={command} />
    </div>
  );
}

/** Newest first. */
function select(filter: Filter): Row[] {
  const all = allRows();
  const isAll = Object.keys(filter).length === 0;
  const selected: Row[] = [];
  for (let index = all.length - 1; index >= 0; index--) {
    const row = all[index]!;
    if (isAll || matches(row, filter)) selected.push(row);
  }
  return selected;
}

function matches(row: Row, { hook, mapping, status, session, text = "" }: Filter): boolean {
  if (hook !== undefined && row.hook !== hook) return false;
  if (mapping !== undefined && row.mapping !== mapping) return false;
  if (status !== undefined && row.status !== status) return false;
  if (session !== undefined && !row.actions.some(({ sessionKey }) => sessionKey === session)) return false;
  if (text === "") return true;
  return (row.words ??= textOf(row)).includes(text.toLowerCase());
}

function textOf({ id, hook, mapping = "", event = "", actions, outcome, refusal }: Row): string {
  const keys = actions.map(({ sessionKey = "", runId = "" }) => `${sessionKey} ${runId}`);
  return [id, hook, mapping, event, outcome, refusal?.client ?? "", ...keys].join("\n").toLowerCase();
}

function countNewer(live: readonly Row[], held: Row | undefined): number {
  if (!held) return live.length;
  let low = 0;
  while (low < live.length && live[low]!.at > held.at) low++;
  return low;
}

/** With the stored rows that are not in the live list. Those that match by their payload only may be newer than live ones. */
function merge(live: readonly Row[], stored: readonly Row[], filter: Filter): Row[] {
  const others = stored.flatMap((row) => {
    const held = findRow(row.id);
    return held && matches(held, filter) ? [] : (held ?? row);
  });
  const rows = [...live, ...others];
  return filter.text === undefined ? rows : rows.toSorted((a, b) => b.at - a.at);
}
