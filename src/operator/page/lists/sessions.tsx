import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { call } from "../api-client.ts";
import { notifyOf, Time } from "../parts/controls.tsx";
import { formatNumber, toLine } from "../parts/format.ts";
import { Entry } from "../parts/conversation.tsx";
import { addPage, type Entries } from "./entries.ts";
import { Page, useCall, useLoad } from "../parts/load.tsx";
import { Table } from "../parts/table.tsx";
import { hrefTo } from "../router.ts";
import type { SessionThread } from "../../../core/journal/journal.ts";
import { MAIN_SESSION } from "../../../core/types.ts";

export function Sessions(): JSX.Element {
  const loaded = useCall("GET /api/sessions", { limit: 200 });
  return (
    <Page title="Sessions" from={loaded}>
      {({ sessions }) => (
        <Table
          label="Sessions"
          items={sessions}
          keyOf={({ key }) => key}
          empty={<p>There is no session yet. The first agent turn opens one.</p>}
          columns={[
            [
              "Newest subject",
              ({ key, subject = key }) => (
                <a data-row={key} href={hrefTo(["sessions", key])}>
                  {toLine(key === MAIN_SESSION ? key : subject, 200)}
                </a>
              ),
              "wide",
            ],
            ["Session", ({ key }) => <span class="quiet">{toLine(key, 60)}</span>],
            ["Entries", ({ entries }) => formatNumber(entries), "number"],
            ["Last", ({ updatedAt }) => <Time at={updatedAt} />],
            ["First", ({ createdAt }) => <Time at={createdAt} />],
          ]}
        />
      )}
    </Page>
  );
}

const ENTRIES_AT_ONCE = 50;
/** No cursor is higher. */
const END = Number.MAX_SAFE_INTEGER;

/** A session reads as a conversation, the newest first: new entries are added to what is there. */
export function Session({ id }: { id: string }): JSX.Element {
  const [known, setKnown] = useState<Entries>();
  const [threads, setThreads] = useState<SessionThread[]>([]);
  const read = async (before: number) => {
    const { entries, threads: found = [] } = await call("GET /api/sessions/:key*", {
      key: id,
      limit: ENTRIES_AT_ONCE,
      before,
    });
    setThreads(found);
    setKnown((earlier) => addPage(earlier, entries, { before, size: ENTRIES_AT_ONCE }));
    return entries;
  };
  const loaded = useLoad(`session ${id}`, () => read(END));
  const links = (
    <p class="facts">
      <a href={hrefTo(["activity"], { session: id })}>Show its requests</a>
      <a href={hrefTo(["activity"], { show: "turns", session: id })}>Show its turns</a>
      {threads.map(({ channel, to, thread }) => (
        <span key={`${channel} ${to}`}>
          {channel} {toLine(to, 60)}, thread {toLine(thread, 60)}
        </span>
      ))}
      <span class="quiet">newest first</span>
    </p>
  );
  return (
    <Page title={toLine(id, 120)} intro={links} from={{ ...loaded, data: known }}>
      {({ entries, hasOlder }) => (
        <div class="conversation">
          {entries.length === 0 && <p class="empty">This session has no entries yet.</p>}
          {entries.toReversed().map((entry) => (
            <Entry key={entry.seq} entry={entry} />
          ))}
          {hasOlder && (
            <button onClick={() => void notifyOf(read(entries[0]?.seq ?? END), undefined, "Not loaded")}>
              Earlier entries
            </button>
          )}
        </div>
      )}
    </Page>
  );
}
