import type { JSX } from "preact";
import { call } from "../api.ts";
import { Time } from "../parts/controls.tsx";
import { Entry } from "../parts/conversation.tsx";
import { Page, useLoad } from "../parts/load.tsx";
import { Table } from "../parts/table.tsx";
import { formatNumber, toLine } from "../parts/text.ts";
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

const ENTRIES_AT_ONCE = 500;

/** A session reads as a conversation. */
export function Session({ id, after }: { id: string; after?: string }): JSX.Element {
  const query = { key: id, limit: ENTRIES_AT_ONCE, after };
  const loaded = useLoad(`session ${id} ${after}`, () => call("GET /api/sessions/:key*", query));
  const intro = (
    <p class="facts">
      <a href={hrefTo([], { session: id })}>Show its requests</a>
    </p>
  );
  return (
    <Page title={toLine(id, 120)} intro={intro} from={loaded}>
      {({ entries }) => (
        <div class="conversation">
          {entries.length === 0 && <p class="empty">This session has no entries yet.</p>}
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
    </Page>
  );
}
