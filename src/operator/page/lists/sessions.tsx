import type { JSX } from "preact";
import { Time } from "../parts/controls.tsx";
import { formatNumber, toLine } from "../parts/format.ts";
import { Entry } from "../parts/conversation.tsx";
import { Page, useCall } from "../parts/load.tsx";
import { Older, Table } from "../parts/table.tsx";
import { hrefTo, route } from "../router.ts";
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

/** A session reads as a conversation, the newest first. */
export function Session({ id }: { id: string }): JSX.Element {
  const { before } = route.value.query;
  const loaded = useCall("GET /api/sessions/:key*", { key: id, limit: ENTRIES_AT_ONCE, before });
  const links = (
    <p class="facts">
      <a href={hrefTo(["activity"], { session: id })}>Show its requests</a>
      <a href={hrefTo(["activity"], { show: "turns", session: id })}>Show its turns</a>
      {loaded.data?.threads?.map(({ channel, to, thread }) => (
        <span key={`${channel} ${to}`}>
          {channel} {toLine(to, 60)}, thread {toLine(thread, 60)}
        </span>
      ))}
      <span class="quiet">newest first</span>
    </p>
  );
  return (
    <Page title={toLine(id, 120)} intro={links} from={loaded}>
      {({ entries }) => (
        <div class="conversation">
          {entries.length === 0 && <p class="empty">This session has no entries yet.</p>}
          {entries.toReversed().map((entry) => (
            <Entry key={entry.seq} entry={entry} />
          ))}
          {entries.length === ENTRIES_AT_ONCE && <Older before={String(entries[0]?.seq)} />}
        </div>
      )}
    </Page>
  );
}
