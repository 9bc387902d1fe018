import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { type PromptPart, toPromptParts } from "../../../core/boundary/prompt-parts.ts";
import { describeWait } from "../../../core/shared/run-wait.ts";
import type { EntryView, RunView, Timeline } from "../api-client.ts";
import { hrefTo } from "../router.ts";
import { Text, Time } from "./controls.tsx";
import { escapeHidden, toLine } from "./format.ts";

const NAMES = { system: "System event", user: "Prompt", assistant: "Reply" };

export function Entry({ entry: { role, text, at, eventId, pending } }: { entry: EntryView }): JSX.Element {
  return (
    <article class={`entry ${role}`}>
      <header class="facts">
        <b>{NAMES[role]}</b> <Time at={at} />
        {pending && <span class="state live">waits for a heartbeat</span>}
        {eventId !== undefined && <a href={hrefTo(["events", eventId])}>event</a>}
      </header>
      {role === "assistant" ? <Words text={text} /> : <Prompt text={text} />}
    </article>
  );
}

/** The agent's prompt. The safety boundary is a label; the exact text is one click away. */
export function Prompt({ text }: { text: string }): JSX.Element {
  const [isExact, setExact] = useState(false);
  const parts = toPromptParts(text);
  if (parts.every(({ source }) => source === undefined)) return <Words text={text} />;
  const shown: PromptPart[] = isExact ? [{ text }] : parts;
  return (
    <>
      {shown.map(({ text: words, source }, index) =>
        source === undefined ? (
          <Words key={index} text={words} />
        ) : (
          <section key={index} class="boundary" aria-label="Untrusted content">
            <p class="marker">untrusted · {toLine(source, 80)}</p>
            <Words text={words} />
          </section>
        ),
      )}
      <button class="small" aria-pressed={isExact} onClick={() => setExact(!isExact)}>
        Show as sent
      </button>
    </>
  );
}

const MAX_WORDS = 20_000;

export function Words({ text }: { text: string }): JSX.Element {
  return (
    <pre class="words">
      <bdi>{escapeHidden(text.slice(0, MAX_WORDS))}</bdi>
      {text.length > MAX_WORDS && <Text>{`… ${text.length - MAX_WORDS} more characters`}</Text>}
    </pre>
  );
}

/** Why a turn has not started, with the way there. */
export function Wait({ wait }: { wait: NonNullable<RunView["waitsFor"]> }): JSX.Element {
  const { eventId, mapping = "" } = wait;
  return (
    <span class="warn">
      <a href={hrefTo(eventId === undefined ? ["mappings", mapping] : ["events", eventId])}>
        {toLine(describeWait(wait), 200)}
      </a>
    </span>
  );
}

export function SessionLink({ sessionKey }: { sessionKey: string }): JSX.Element {
  return <a href={hrefTo(["sessions", sessionKey])}>{toLine(sessionKey, 48)}</a>;
}

export function Log({ log }: { log: Timeline["log"] }): JSX.Element | null {
  if (log.length === 0) return null;
  return (
    <pre class="log">
      {log.map(({ level, text }, index) => (
        <div key={index} class={`level-${level}`}>
          <span class="quiet">{level}</span> {escapeHidden(text)}
        </div>
      ))}
    </pre>
  );
}
