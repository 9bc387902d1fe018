import { type ComponentChildren, Fragment, type JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { changes } from "./live.ts";

/* Small parts that every screen uses. */

/** Text from outside: control, bidirectional and invisible characters are shown as their code points. */
export function Text({ children, max = 400 }: { children: string | undefined; max?: number }): JSX.Element {
  const text = children ?? "";
  return <bdi>{toVisible(text.length > max ? `${text.slice(0, max)}…` : text)}</bdi>;
}

const INVISIBLE = /[\p{Cc}\p{Cf}\u2028\u2029\u3164\uffa0]/gu;

/** Such a character could reorder or hide what stands around it. */
export function toVisible(text: string): string {
  return text.replace(INVISIBLE, (char) =>
    /[\t\n\r]/.test(char) ? char : `\\u{${char.codePointAt(0)?.toString(16)}}`,
  );
}

/** On one line. */
export function toLine(text: string | undefined, max = 160): string {
  const line = (text ?? "")
    .slice(0, 4 * max)
    .replaceAll(/\s+/g, " ")
    .trim();
  return toVisible(line.length > max ? `${line.slice(0, max - 1)}…` : line);
}

export function formatMs(ms: number): string {
  if (ms < 1) return "<1 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
  return `${Math.floor(ms / 3_600_000)} h ${Math.round((ms % 3_600_000) / 60_000)} min`;
}

const NUMBER = new Intl.NumberFormat("en");
export const formatNumber = (value: number): string => NUMBER.format(value);

/** In the currency of `agents.prices`. */
export const formatCost = (cost: number | undefined): string => (cost ? cost.toFixed(cost < 1 ? 4 : 2) : "");

export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

/** Today only the time, else also the day; the whole time on hover. */
export function Time({ at }: { at: string | undefined }): JSX.Element {
  if (at === undefined) return <Fragment>–</Fragment>;
  const date = new Date(at);
  const isToday = date.toDateString() === new Date().toDateString();
  const day = isToday ? "" : `${date.toLocaleDateString("en-CA").slice(5)} `;
  return (
    <time dateTime={at} title={at}>
      {day}
      {date.toTimeString().slice(0, 8)}
    </time>
  );
}

const TONES: Record<string, string> = {
  done: "good",
  sent: "good",
  ok: "good",
  accepted: "live",
  running: "live",
  sending: "live",
  pending: "live",
  ready: "live",
  queued: "live",
  held: "warn",
  rejected: "warn",
  refused: "warn",
  failed: "bad",
  dead: "bad",
};

export const toneOf = (state: string): string => TONES[state] ?? "quiet";

export function State({ state }: { state: string }): JSX.Element {
  return <span class={`state ${toneOf(state)}`}>{state}</span>;
}

export function Copy({ text, label = "Copy" }: { text: string; label?: string }): JSX.Element {
  const [copied, setCopied] = useState(false);
  return (
    <button
      type="button"
      class="small"
      onClick={(event) => {
        event.stopPropagation();
        void copy(text).then(() => setCopied(true));
        setTimeout(() => setCopied(false), 1200);
      }}
    >
      {copied ? "Copied" : label}
    </button>
  );
}

/** Without https, a browser offers only the older way. */
async function copy(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.body.appendChild(document.createElement("textarea"));
  area.value = text;
  area.select();
  document.execCommand("copy");
  area.remove();
}

export function download(name: string, content: unknown): void {
  const blob = new Blob([JSON.stringify(content, undefined, 2), "\n"], { type: "application/json" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

export interface Loaded<Data> {
  data?: Data;
  error?: string;
  reload(): void;
}

/** How often a list is read again while the stream reports changes. */
const REFRESH_MS = 1000;

/** Loads data when `key` changes, and again as `revision` does: by default, after changes that the stream reports. */
export function useLoad<Data>(key: string, load: () => Promise<Data>, revision = changes.value): Loaded<Data> {
  const [state, setState] = useState<{ key: string; data?: Data; error?: string }>({ key });
  const [turn, setTurn] = useState(0);
  const loadedAt = useRef(0);
  const latest = useRef(key);
  latest.current = key;
  useEffect(() => {
    const isFirst = state.key !== key || (state.data === undefined && state.error === undefined);
    const timer = setTimeout(
      () => {
        loadedAt.current = Date.now();
        load().then(
          (data) => latest.current === key && setState({ key, data }),
          (error: unknown) => {
            const message = error instanceof Error ? error.message : String(error);
            if (latest.current === key) setState((before) => ({ key, data: before.data, error: message }));
          },
        );
      },
      isFirst ? 0 : Math.max(0, REFRESH_MS - (Date.now() - loadedAt.current)),
    );
    return () => clearTimeout(timer);
  }, [key, turn, revision]);
  return {
    ...(state.key === key ? state : {}),
    reload() {
      loadedAt.current = 0;
      setTurn((before) => before + 1);
    },
  };
}

/** Shows what was loaded, the error, or that it is loading. */
export function Loading<Data>({
  from: { data, error },
  children,
}: {
  from: Loaded<Data>;
  children(data: Data): ComponentChildren;
}): JSX.Element {
  return (
    <Fragment>
      {error !== undefined && (
        <p class="problem" role="alert">
          {toVisible(error)}
        </p>
      )}
      {data === undefined ? error === undefined && <p class="quiet loading">Loading…</p> : children(data)}
    </Fragment>
  );
}

interface Column<Item> {
  name: string;
  /** wide: takes the room that is left. number: on the right. */
  kind?: "wide" | "number";
  show(item: Item): ComponentChildren;
}

interface TableProps<Item> {
  label: string;
  items: readonly Item[];
  columns: Column<Item>[];
  keyOf(item: Item): string;
  empty: ComponentChildren;
  /** Of the items with these keys, for what is done to several at once. */
  selected?: ReadonlySet<string>;
  onSelect?(selected: ReadonlySet<string>): void;
}

/** A dense table; on a narrow screen each row becomes a block. */
export function Table<Item>(props: TableProps<Item>): JSX.Element {
  const { label, items, columns, keyOf, empty, selected, onSelect } = props;
  if (items.length === 0) return <div class="empty">{empty}</div>;
  const isAll = selected !== undefined && items.every((item) => selected.has(keyOf(item)));
  const toggle = (key: string): void =>
    onSelect?.(selected?.has(key) ? without(selected, key) : withKey(selected, key));
  return (
    <table aria-label={label}>
      <thead>
        <tr>
          {onSelect && (
            <th class="check">
              <input
                type="checkbox"
                aria-label="Select all"
                checked={isAll}
                onChange={() => onSelect(isAll ? new Set() : new Set(items.map(keyOf)))}
              />
            </th>
          )}
          {columns.map(({ name, kind }) => (
            <th key={name} scope="col" class={kind}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {items.map((item) => {
          const key = keyOf(item);
          return (
            <tr key={key} data-row={onSelect ? key : undefined} aria-selected={selected?.has(key)}>
              {onSelect && (
                <td class="check">
                  <input
                    type="checkbox"
                    aria-label={`Select ${key}`}
                    checked={selected?.has(key)}
                    onChange={() => toggle(key)}
                  />
                </td>
              )}
              {columns.map(({ name, kind, show }) => (
                <td key={name} class={kind} data-name={name}>
                  {show(item)}
                </td>
              ))}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function without(selected: ReadonlySet<string>, key: string): ReadonlySet<string> {
  return new Set([...selected].filter((other) => other !== key));
}

function withKey(selected: ReadonlySet<string> = new Set(), key: string): ReadonlySet<string> {
  return new Set([...selected, key]);
}
