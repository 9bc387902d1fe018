import type { JSX } from "preact";
import { type EntryView, get } from "./api.ts";
import { formatNumber, Loading, Table, Text, Time, toLine, toVisible, useLoad } from "./parts.tsx";
import { hrefTo } from "./router.ts";

export function Sessions(): JSX.Element {
  const loaded = useLoad("sessions", () => get("/api/sessions", { limit: 200 }));
  return (
    <section class="page">
      <h1>Sessions</h1>
      <Loading from={loaded}>
        {({ sessions }) => (
          <Table
            label="Sessions"
            items={sessions}
            keyOf={({ key }) => key}
            empty={<p>There is no session yet: the first agent turn opens one.</p>}
            columns={[
              {
                name: "Session",
                kind: "wide",
                show: ({ key }) => (
                  <a data-row={key} href={hrefTo(["sessions", key])}>
                    {toLine(key, 120)}
                  </a>
                ),
              },
              { name: "Entries", kind: "number", show: ({ entries }) => formatNumber(entries) },
              { name: "Last", show: ({ updatedAt }) => <Time at={updatedAt} /> },
              { name: "First", show: ({ createdAt }) => <Time at={createdAt} /> },
            ]}
          />
        )}
      </Loading>
    </section>
  );
}

const ENTRIES_AT_ONCE = 500;

/** A session reads as a conversation. */
export function Session({ id, after }: { id: string; after?: string }): JSX.Element {
  const query = { key: id, limit: ENTRIES_AT_ONCE, after };
  const loaded = useLoad(`session ${id} ${after}`, () => get("/api/sessions/:key*", query));
  return (
    <section class="page">
      <h1>{toLine(id, 120)}</h1>
      <p class="facts">
        <a href={hrefTo([], { session: id })}>its requests</a>
      </p>
      <Loading from={loaded}>
        {({ entries }) => (
          <div class="conversation">
            {entries.length === 0 && <p class="empty">Nothing was said here yet.</p>}
            {entries.map((entry) => (
              <Entry key={entry.seq} entry={entry} />
            ))}
            {entries.length === ENTRIES_AT_ONCE && (
              <a class="button" href={hrefTo(["sessions", id], { after: String(entries.at(-1)?.seq) })}>
                Later entries
              </a>
            )}
          </div>
        )}
      </Loading>
    </section>
  );
}

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

/** The safety boundary is drawn as one: what a stranger wrote stands in a box of its own. */
export function Prompt({ text }: { text: string }): JSX.Element {
  const parts: JSX.Element[] = [];
  let end = 0;
  for (const { index, 0: whole, 1: opening = "", 2: id, 3: content = "", 4: closing = "" } of text.matchAll(BOUNDARY)) {
    if (text.slice(end, index).trim()) parts.push(<Words key={end} text={text.slice(end, index).trim()} />);
    parts.push(
      <section key={index} class="boundary" aria-label="Untrusted content">
        <p class="quiet marker">{opening.trim()}</p>
        <Words text={content} />
        <p class="quiet marker">{closing.trim()}</p>
      </section>,
    );
    end = index + whole.length;
    void id;
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
