import { HOUR_MS } from "../../shared/time.ts";
import { parseExact } from "../../shared/exact-json.ts";
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useState } from "preact/hooks";

/** Text from outside: control, bidirectional and invisible characters are shown as their code points. */
export function Text({ children, max = 400 }: { children: string | undefined; max?: number }): JSX.Element {
  const text = children ?? "";
  return <bdi>{toVisible(text.length > max ? `${text.slice(0, max)}…` : text)}</bdi>;
}

/** A text of several lines; nothing for undefined. */
export function Detail({ text, isError }: { text: string | undefined; isError?: boolean }): JSX.Element | null {
  if (text === undefined) return null;
  return (
    <pre class={`detail ${isError ? "bad" : ""}`} tabIndex={0}>
      {toVisible(text)}
    </pre>
  );
}

export function Warnings({ texts, look = "problem mild" }: { texts: readonly string[]; look?: string }): JSX.Element {
  return (
    <>
      {texts.map((text) => (
        <p key={text} class={look}>
          {toVisible(text)}
        </p>
      ))}
    </>
  );
}

/** Names with their values. */
export function Pairs({ label, pairs }: { label?: string; pairs: Record<string, string> }): JSX.Element {
  return (
    <>
      {label !== undefined && <h3>{label}</h3>}
      <dl class="pairs">
        {Object.entries(pairs).map(([name, value]) => (
          <div key={name}>
            <dt>{toVisible(name)}</dt>
            <dd>
              <Text max={500}>{value}</Text>
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}

const ZONE = new Intl.DateTimeFormat("en", { timeZoneName: "short" });

/** With the day, the zone of this browser, and how long ago it was. */
export function toWholeTime(at: number | string): string {
  const date = new Date(at);
  const zone = ZONE.formatToParts(date).find(({ type }) => type === "timeZoneName")?.value ?? "";
  const ago = Date.now() - date.getTime();
  const relative = ago < 0 ? `in ${formatMs(-ago)}` : `${formatMs(ago)} ago`;
  return `${date.toLocaleDateString("en-CA")} ${date.toTimeString().slice(0, 8)} ${zone}, ${relative}`;
}

/** Today only the time, else also the day; the whole time on hover. */
export function Time({ at }: { at: string | undefined }): JSX.Element {
  if (at === undefined) return <>–</>;
  const date = new Date(at);
  const isToday = date.toDateString() === new Date().toDateString();
  const day = isToday ? "" : `${date.toLocaleDateString("en-CA").slice(5)} `;
  return (
    <time dateTime={at} title={toWholeTime(at)}>
      {day}
      {date.toTimeString().slice(0, 8)}
    </time>
  );
}

const TONES: Record<string, string[]> = {
  good: ["done", "sent", "ok", "watching", "active"],
  live: ["accepted", "running", "sending", "pending", "ready", "queued", "connecting", "catching-up"],
  warn: ["held", "rejected", "refused", "paused", "shadowed", "open", "network", "locked"],
  bad: ["failed", "dead", "store-failed", "mailbox-gone", "tls-failed", "login-refused"],
};

export function toneOf(state: string): string {
  return Object.keys(TONES).find((tone) => TONES[tone]?.includes(state)) ?? "quiet";
}

/** What became of a request, beside its status, which needs no second mention. */
export function outcomeBeside(status: string, outcome: string): string {
  return outcome.startsWith(`${status}: `) ? outcome.slice(status.length + 2) : outcome;
}

export function State({ state }: { state: string }): JSX.Element {
  return <span class={`state ${toneOf(state)}`}>{state}</span>;
}

export function Copy({ text, label = "Copy" }: { text: string; label?: string }): JSX.Element {
  const [copied, setCopied] = useState(false);
  return (
    <button
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

const notice = signal<{ text: string; tone: "good" | "bad"; undo?(): void } | undefined>(undefined);
const SHOWN_MS = 5000;
let timer: ReturnType<typeof setTimeout>;

/** Says what became of something that a person asked for. */
export function notify(text: string, tone: "good" | "bad" = "good"): void {
  notice.value = { text, tone };
  clearTimeout(timer);
  timer = setTimeout(() => (notice.value = undefined), SHOWN_MS);
}

/** What a person can still undo; it happens on leaving at the latest. */
let undoable: { act(isLeaving: boolean): void; timer: ReturnType<typeof setTimeout> } | undefined;

/** Says what will happen in five seconds, unless it is undone. Another one, or leaving the page, makes it happen at once. */
export function delayed(text: string, act: (isLeaving: boolean) => void, undone: () => void): void {
  actNow(false);
  const later = setTimeout(() => actNow(false), SHOWN_MS);
  undoable = { act, timer: later };
  notify(text);
  notice.value = {
    text,
    tone: "good",
    undo() {
      clearTimeout(later);
      undoable = undefined;
      notify("Nothing was changed.");
      undone();
    },
  };
}

function actNow(isLeaving: boolean): void {
  if (!undoable) return;
  clearTimeout(undoable.timer);
  const { act } = undoable;
  undoable = undefined;
  act(isLeaving);
}

window.addEventListener("pagehide", () => actNow(true));

/** Says what became of the work; undefined if it failed. */
export async function notifyOf<Result>(
  work: Promise<Result>,
  done: ((result: Result) => string) | undefined,
  failed: string,
): Promise<Result | undefined> {
  try {
    const result = await work;
    if (done) notify(done(result));
    return result;
  } catch (error) {
    notify(`${failed}: ${messageOf(error)}`, "bad");
    return undefined;
  }
}

export function Notice(): JSX.Element {
  return (
    <div class={`notice ${notice.value?.tone ?? ""}`} role="status">
      {notice.value && <span>{notice.value.text}</span>}
      {notice.value?.undo && <button onClick={notice.value.undo}>Undo</button>}
    </div>
  );
}

/* How values are written. */

const INVISIBLE = /[\p{Cc}\p{Cf}\u2028\u2029\u3164\uffa0]/gu;

/** Characters that could reorder or hide the text around them. */
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
  if (ms < HOUR_MS) return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
  return `${Math.floor(ms / HOUR_MS)} h ${Math.round((ms % HOUR_MS) / 60_000)} min`;
}

const NUMBER = new Intl.NumberFormat("en");
export const formatNumber = (value: number | undefined): string => (value === undefined ? "" : NUMBER.format(value));

/** In the currency of `agents.prices`. */
export const formatCost = (cost: number | undefined, digits?: number): string =>
  cost ? cost.toFixed(digits ?? (cost < 1 ? 4 : 2)) : "";

export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function parseJson(text: string): { value?: unknown; error?: string } {
  try {
    return { value: parseExact(text) };
  } catch (error) {
    return { error: `This is not JSON: ${messageOf(error)}` };
  }
}
