import { signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import type { ConfigProblem } from "../../../core/errors.ts";
import { escapeHidden, messageOf, toneOf, toWholeTime } from "./format.ts";

/** Text from outside: control, bidirectional and invisible characters are shown as their code points. */
export function Text({ children, max = 400 }: { children: string | undefined; max?: number }): JSX.Element {
  const text = children ?? "";
  return <bdi>{escapeHidden(text.length > max ? `${text.slice(0, max)}…` : text)}</bdi>;
}

interface DetailProps {
  text: string | undefined;
  isError?: boolean;
  /** Hidden characters are shown already. */
  isVisible?: boolean;
}

/** Longer texts are opened by a person. */
const MAX_LINES = 40;

/** A text of several lines; nothing for undefined. */
export function Detail({ text, isError, isVisible }: DetailProps): JSX.Element | null {
  if (text === undefined) return null;
  const lines = (isVisible ? text : escapeHidden(text)).split("\n");
  const show = (part: string[]): JSX.Element => (
    <pre class={isError ? "exact bad" : "exact"} tabIndex={0}>
      {part.join("\n")}
    </pre>
  );
  if (lines.length <= MAX_LINES) return show(lines);
  return (
    <details>
      <summary>
        {show(lines.slice(0, MAX_LINES))}
        Show all {lines.length} lines
      </summary>
      {show(lines.slice(MAX_LINES))}
    </details>
  );
}

/** Mistakes in a configuration, each with its place and the line. */
export function Problems({ problems }: { problems: readonly ConfigProblem[] }): JSX.Element {
  return (
    <>
      {problems.map(({ file, line, column, key = "", message, excerpt = "" }, index) => {
        const place = [file, line, column].filter((part) => part !== undefined).join(":");
        return <Detail key={index} isError text={`${place} ${key} ${message}\n${excerpt}`.trim()} />;
      })}
    </>
  );
}

export function Warnings({ texts, look = "warn" }: { texts: readonly string[]; look?: string }): JSX.Element {
  return (
    <>
      {texts.map((text) => (
        <p key={text} class={look}>
          {escapeHidden(text)}
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
          <Pair key={name} name={name}>
            <Text max={500}>{value}</Text>
          </Pair>
        ))}
      </dl>
    </>
  );
}

export function Pair({ name, children }: { name: string; children: ComponentChildren }): JSX.Element {
  return (
    <div>
      <dt>{escapeHidden(name)}</dt>
      <dd>{children}</dd>
    </div>
  );
}

interface TimeProps {
  at: string | undefined;
  /** Without seconds. */
  isShort?: boolean;
  /** Words in front of it. */
  before?: string;
}

/** Today only the time, else also the day; the whole time on hover. */
export function Time({ at, isShort = false, before }: TimeProps): JSX.Element {
  if (at === undefined) return <>–</>;
  const date = new Date(at);
  const isToday = date.toDateString() === new Date().toDateString();
  const day = isToday ? "" : date.toLocaleDateString("en-CA").slice(5);
  const clock = date.toTimeString().slice(0, isShort ? 5 : 8);
  return (
    <time dateTime={at} title={toWholeTime(at)}>
      {[before, day, clock].filter(Boolean).join(" ")}
    </time>
  );
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

const notice = signal<{ text: string; tone: "good" | "bad" } | undefined>(undefined);
const SHOWN_MS = 5000;
let timer: ReturnType<typeof setTimeout>;

/** Says what became of something that a person asked for. */
export function notify(text: string, tone: "good" | "bad" = "good"): void {
  notice.value = { text, tone };
  clearTimeout(timer);
  timer = setTimeout(() => (notice.value = undefined), SHOWN_MS);
}

/** Says what became of the work; undefined if it failed. */
export async function notifyOf<Result>(
  work: Promise<Result>,
  done: string | ((result: Result) => string) | undefined,
  failed: string,
): Promise<Result | undefined> {
  try {
    const result = await work;
    if (done !== undefined) notify(typeof done === "string" ? done : done(result));
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
    </div>
  );
}
