import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { call, type EntryView } from "../api.ts";
import { changes } from "../live.ts";
import { formatNumber, messageOf, Time, toLine } from "../parts/controls.tsx";
import { Entry } from "../parts/conversation.tsx";
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

interface Conversation {
  /** Oldest first. */
  entries: EntryView[];
  hasOlder: boolean;
  problem?: string;
}

/** A session reads as a conversation, the newest first: new entries are added to what is there. */
export function Session({ id }: { id: string }): JSX.Element {
  const [state, setState] = useState<Conversation>();
  const busy = useRef(false);
  const latest = useRef(state);
  latest.current = state;

  const read = async (query: { after?: number; before?: number }): Promise<void> => {
    if (busy.current) return;
    busy.current = true;
    try {
      const { entries } = await call("GET /api/sessions/:key*", { key: id, limit: ENTRIES_AT_ONCE, ...query });
      const known = latest.current?.entries ?? [];
      const isOlder = query.before !== undefined;
      setState({
        entries: isOlder ? [...entries, ...known] : [...known, ...entries],
        hasOlder: isOlder ? entries.length === ENTRIES_AT_ONCE : (latest.current?.hasOlder ?? false),
      });
    } catch (error) {
      setState({ entries: [], hasOlder: false, ...latest.current, problem: messageOf(error) });
    } finally {
      busy.current = false;
    }
  };

  const newest = state?.entries.at(-1)?.seq;
  useEffect(() => {
    void read(newest === undefined ? { before: END } : { after: newest });
  }, [changes.value]);

  return (
    <section class="page">
      <Title text={toLine(id, 120)} />
      <p class="facts">
        <a href={hrefTo([], { session: id })}>Show its requests</a>
        <a href={hrefTo(["runs"], { session: id })}>Show its turns</a>
        <span class="quiet">newest first</span>
      </p>
      {state?.problem !== undefined && (
        <Failure
          text={state.problem}
          retry={() => void read(newest === undefined ? { before: END } : { after: newest })}
        />
      )}
      {!state && <p class="quiet loading">Loading…</p>}
      <div class="conversation">
        {state?.entries.length === 0 && <p class="empty">This session has no entries yet.</p>}
        {state?.entries.toReversed().map((entry) => (
          <Entry key={entry.seq} entry={entry} />
        ))}
        {state?.hasOlder && (
          <button type="button" onClick={() => void read({ before: state.entries[0]?.seq })}>
            Earlier entries
          </button>
        )}
      </div>
    </section>
  );
}
