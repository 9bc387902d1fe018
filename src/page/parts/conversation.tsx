import type { JSX } from "preact";
import type { EntryView, Timeline } from "../api.ts";
import { hrefTo } from "../router.ts";
import { Text, Time, toLine, toVisible } from "./controls.tsx";

const NAMES = { system: "System event", user: "Prompt", assistant: "Reply" };

export function Entry({ entry: { role, text, at, eventId, pending } }: { entry: EntryView }): JSX.Element {
  return (
    <article class={`entry ${role}`}>
      <header>
        <b>{NAMES[role]}</b> <Time at={at} />
        {pending && <span class="state live">waits for a heartbeat</span>}
        {eventId !== undefined && <a href={hrefTo(["events", eventId])}>event</a>}
      </header>
      {role === "assistant" ? <Words text={text} /> : <Prompt text={text} />}
    </article>
  );
}

const BOUNDARY =
  /((?:SECURITY NOTICE:[^\n]*\n)?<<<EXTERNAL_UNTRUSTED_CONTENT id="([^"]+)">>>\n)([\s\S]*?)(\n<<<END_EXTERNAL_UNTRUSTED_CONTENT id="\2">>>)/g;

/** The safety boundary is drawn as a box around the untrusted text. */
export function Prompt({ text }: { text: string }): JSX.Element {
  const parts: JSX.Element[] = [];
  let end = 0;
  for (const { index, 0: whole, 1: opening = "", 3: content = "", 4: closing = "" } of text.matchAll(BOUNDARY)) {
    if (text.slice(end, index).trim()) parts.push(<Words key={end} text={text.slice(end, index).trim()} />);
    parts.push(
      <section key={index} class="boundary" aria-label="Untrusted content">
        <p class="quiet marker">{opening.trim()}</p>
        <Words text={content} />
        <p class="quiet marker">{closing.trim()}</p>
      </section>,
    );
    end = index + whole.length;
  }
  if (text.slice(end).trim()) parts.push(<Words key={end} text={text.slice(end).trim()} />);
  return <>{parts}</>;
}

const MAX_WORDS = 20_000;

function Words({ text }: { text: string }): JSX.Element {
  return (
    <pre class="words">
      <bdi>{toVisible(text.slice(0, MAX_WORDS))}</bdi>
      {text.length > MAX_WORDS && <Text>{`… ${text.length - MAX_WORDS} more characters`}</Text>}
    </pre>
  );
}

export function SessionLink({ sessionKey }: { sessionKey: string }): JSX.Element {
  return <a href={hrefTo(["sessions", sessionKey])}>{toLine(sessionKey, 48)}</a>;
}

/** The log of a transform. */
export function Log({ log }: { log: Timeline["log"] }): JSX.Element | null {
  if (log.length === 0) return null;
  return (
    <pre class="log">
      {log.map(({ level, text }, index) => (
        <div key={index} class={`level-${level}`}>
          <span class="quiet">{level}</span> {toVisible(text)}
        </div>
      ))}
    </pre>
  );
}
