import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { call } from "../api.ts";
import { changes } from "../live.ts";
import { formatNumber, messageOf, Time, toLine } from "../parts/controls.tsx";
import { Entry } from "../parts/conversation.tsx";
import { addPage, type Entries } from "./entries.ts";
import { Failure, Page, useLoad } from "../parts/load.tsx";
import { Table } from "../parts/table.tsx";
import { Title } from "../parts/title.tsx";
import { hrefTo } from "../router.ts";

export function Sessions(): JSX.Element {
  const loaded = useLoad("sessions", () => call("GET /api/sessions", { limit: 200 }));
  return (
    <Page title="Sessions" from={loaded}>
      {({ sessions }) => (
        <Table
          label="Sessions"
          items={sessions}
          keyOf={({ key }) => key}
          empty={<p>There is no session yet. The first agent turn opens one.</p>}
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
    </Page>
  );
}

const ENTRIES_AT_ONCE = 50;
/** No cursor is higher. */
const END = Number.MAX_SAFE_INTEGER;

/** How often it is read again while the stream reports changes. */
const REFRESH_MS = 1000;

/** A session reads as a conversation, the newest first: new entries are added to what is there. */
export function Session({ id }: { id: string }): JSX.Element {
  const [known, setKnown] = useState<Entries>();
  const [problem, setProblem] = useState<string>();
  const [reads, setReads] = useState(0);
  const readAt = useRef(0);

  const read = async (before: number): Promise<void> => {
    try {
      const { entries } = await call("GET /api/sessions/:key*", { key: id, limit: ENTRIES_AT_ONCE, before });
      setKnown((earlier) => addPage(earlier, entries, { before, size: ENTRIES_AT_ONCE }));
      setProblem(undefined);
    } catch (error) {
      setProblem(messageOf(error));
    }
  };

  useEffect(() => {
    const wait = Math.max(0, readAt.current + REFRESH_MS - Date.now());
    const timer = setTimeout(() => {
      readAt.current = Date.now();
      void read(END);
    }, wait);
    return () => clearTimeout(timer);
  }, [changes.value, reads]);

  return (
    <section class="page">
      <Title text={toLine(id, 120)} />
      <p class="facts">
        <a href={hrefTo([], { session: id })}>Show its requests</a>
        <a href={hrefTo(["runs"], { session: id })}>Show its turns</a>
        <span class="quiet">newest first</span>
      </p>
      {problem !== undefined && <Failure text={problem} retry={() => setReads(reads + 1)} />}
      {!known && problem === undefined && <p class="quiet loading">Loading…</p>}
      <div class="conversation">
        {known?.entries.length === 0 && <p class="empty">This session has no entries yet.</p>}
        {known?.entries.toReversed().map((entry) => (
          <Entry key={entry.seq} entry={entry} />
        ))}
        {known?.hasOlder && <button onClick={() => void read(known.entries[0]?.seq ?? END)}>Earlier entries</button>}
      </div>
    </section>
  );
}
