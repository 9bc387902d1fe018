import type { JSX } from "preact";
import { DELIVERY_STATES, RUN_STATES } from "../../types.ts";
import { call, type RunView } from "../api.ts";
import { formatCost, formatMs, formatNumber, notifyOf, State, Time, toLine } from "../parts/controls.tsx";
import { Entry, SessionLink } from "../parts/conversation.tsx";
import { Page, useLoad } from "../parts/load.tsx";
import { EventLink, PAGE_SIZE, ResultText, StateFilter, Table } from "../parts/table.tsx";
import { hrefTo, route, setQuery } from "../router.ts";

export function Runs(): JSX.Element {
  const { state, before } = route.value.query;
  const query = { state, before, limit: PAGE_SIZE };
  const loaded = useLoad(`runs ${state} ${before}`, () => call("GET /api/runs", query));
  const release = (): void => {
    const said = notifyOf(
      call("POST /api/runs/release"),
      ({ released }) => `${released} runs may start.`,
      "Not released",
    );
    void said.then(loaded.reload);
  };
  const intro = (
    <>
      <StateFilter states={RUN_STATES} />
      {state === "held" && (
        <p class="actions">
          <button type="button" class="main" onClick={release}>
            Release all held runs
          </button>
        </p>
      )}
    </>
  );
  return (
    <Page title="Runs" intro={intro} from={loaded}>
      {({ runs }) => (
        <Table
          label="Runs"
          items={runs}
          keyOf={({ id }) => id}
          isPaged
          empty={<p>No run is in this state.</p>}
          columns={[
            { name: "Created", show: ({ createdAt }) => <Time at={createdAt} /> },
            { name: "State", show: (run) => <State state={run.state} /> },
            {
              name: "Hook",
              show: ({ id, eventId, hook, kind }) => (
                <EventLink id={eventId} row={id}>
                  {toLine(hook ?? kind, 60)}
                </EventLink>
              ),
            },
            { name: "Session", show: ({ sessionKey }) => <SessionLink sessionKey={sessionKey} /> },
            { name: "Result", kind: "wide", show: ({ reply, error }) => <ResultText reply={reply} error={error} /> },
            { name: "Duration", kind: "number", show: tookOf },
            { name: "Attempts", kind: "number", show: ({ attempts }) => attempts },
            { name: "Tokens", kind: "number", show: (run) => formatNumber(tokensOf(run) || undefined) },
            { name: "Cost", kind: "number", show: ({ cost }) => formatCost(cost) },
          ]}
        />
      )}
    </Page>
  );
}

function tookOf({ startedAt, finishedAt }: RunView): string {
  return startedAt && finishedAt ? formatMs(Date.parse(finishedAt) - Date.parse(startedAt)) : "";
}

const tokensOf = ({ usage }: RunView): number => (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0);

export function Deliveries(): JSX.Element {
  const { state, before } = route.value.query;
  const query = { state, before, limit: PAGE_SIZE };
  const loaded = useLoad(`deliveries ${state} ${before}`, () => call("GET /api/deliveries", query));
  return (
    <Page title="Deliveries" intro={<StateFilter states={DELIVERY_STATES} />} from={loaded}>
      {({ deliveries }) => (
        <Table
          label="Deliveries"
          items={deliveries}
          keyOf={({ id }) => id}
          isPaged
          empty={<p>No delivery is in this state.</p>}
          columns={[
            { name: "Created", show: ({ createdAt }) => <Time at={createdAt} /> },
            { name: "State", show: (delivery) => <State state={delivery.state} /> },
            {
              name: "To",
              show: ({ id, eventId, channel, route: found, to }) => (
                <EventLink id={eventId} row={id}>
                  {`${found?.channel ?? channel} ${toLine(found?.to ?? to, 60)}`}
                </EventLink>
              ),
            },
            { name: "Text", kind: "wide", show: ({ text, error }) => <ResultText reply={text} error={error} /> },
            { name: "Attempts", kind: "number", show: ({ attempts }) => attempts },
            { name: "Sent", show: ({ sentAt }) => <Time at={sentAt} /> },
          ]}
        />
      )}
    </Page>
  );
}

const DAY_MS = 86_400_000;
const PERIODS = [1, 7, 30];

/** The tokens and the cost of runs, by hook, mapping and model. */
export function Spend(): JSX.Element {
  const days = Number(route.value.query.days) || 1;
  const since = new Date(Math.floor(Date.now() / DAY_MS - days + 1) * DAY_MS).toISOString();
  const loaded = useLoad(`spend ${since}`, () => call("GET /api/spend", { since }));
  const periods = (
    <p class="choices" role="group" aria-label="Period">
      {PERIODS.map((period) => (
        <button
          key={period}
          type="button"
          aria-pressed={days === period}
          onClick={() => setQuery({ days: `${period}` })}
        >
          {period === 1 ? "today" : `${period} days`}
        </button>
      ))}
      <span class="quiet">UTC</span>
    </p>
  );
  const empty = (
    <p>
      No run has said what it used. Prices are in <code>agents.prices</code>, limits in <code>agents.budget</code>.
    </p>
  );
  return (
    <Page title="Spend" intro={periods} from={loaded}>
      {({ spend }) => (
        <Table
          label="Spend by hook, mapping and model"
          items={spend}
          keyOf={({ hook, mapping, model }) => JSON.stringify([hook, mapping, model])}
          empty={empty}
          columns={[
            { name: "Hook", show: ({ hook }) => <b>{toLine(hook || "heartbeat", 60)}</b> },
            { name: "Mapping", show: ({ mapping }) => toLine(mapping, 60) },
            { name: "Model", kind: "wide", show: ({ model }) => toLine(model, 80) },
            { name: "Runs", kind: "number", show: ({ runs }) => formatNumber(runs) },
            { name: "Tokens in", kind: "number", show: ({ inputTokens }) => formatNumber(inputTokens) },
            { name: "Tokens out", kind: "number", show: ({ outputTokens }) => formatNumber(outputTokens) },
            { name: "Cost", kind: "number", show: ({ cost }) => formatCost(cost) },
          ]}
        />
      )}
    </Page>
  );
}

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
