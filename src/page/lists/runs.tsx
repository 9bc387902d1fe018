import type { JSX } from "preact";
import { DELIVERY_STATES, RUN_STATES } from "../../types.ts";
import { get, post, type RunView } from "../api.ts";
import { notify, State, Time } from "../parts/controls.tsx";
import { SessionLink } from "../parts/conversation.tsx";
import { Loading, useLoad } from "../parts/load.tsx";
import { EventLink, OlderLink, PAGE_SIZE, ResultText, StateFilter, Table } from "../parts/table.tsx";
import { formatCost, formatMs, formatNumber, messageOf, toLine } from "../parts/text.ts";
import { route } from "../router.ts";

export function Runs(): JSX.Element {
  const { state, before } = route.value.query;
  const query = { state, before, limit: PAGE_SIZE };
  const loaded = useLoad(`runs ${state} ${before}`, () => get("/api/runs", query));
  return (
    <section class="page">
      <h1>Runs</h1>
      <StateFilter states={RUN_STATES} />
      {state === "held" && (
        <p class="actions">
          <button type="button" class="main" onClick={() => void release().then(loaded.reload)}>
            Release all held runs
          </button>
        </p>
      )}
      <Loading from={loaded}>
        {({ runs }) => (
          <>
            <Table
              label="Runs"
              items={runs}
              keyOf={({ id }) => id}
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
                {
                  name: "Result",
                  kind: "wide",
                  show: ({ reply, error }) => <ResultText reply={reply} error={error} />,
                },
                { name: "Duration", kind: "number", show: tookOf },
                { name: "Attempts", kind: "number", show: ({ attempts }) => attempts },
                { name: "Tokens", kind: "number", show: (run) => formatNumber(tokensOf(run) || undefined) },
                { name: "Cost", kind: "number", show: ({ cost }) => formatCost(cost) },
              ]}
            />
            <OlderLink items={runs} />
          </>
        )}
      </Loading>
    </section>
  );
}

async function release(): Promise<void> {
  try {
    const { released } = await post("/api/runs/release");
    notify(`${released} runs may start.`);
  } catch (error) {
    notify(`Not released: ${messageOf(error)}`, "bad");
  }
}

function tookOf({ startedAt, finishedAt }: RunView): string {
  return startedAt && finishedAt ? formatMs(Date.parse(finishedAt) - Date.parse(startedAt)) : "";
}

const tokensOf = ({ usage }: RunView): number => (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0);

export function Deliveries(): JSX.Element {
  const { state, before } = route.value.query;
  const query = { state, before, limit: PAGE_SIZE };
  const loaded = useLoad(`deliveries ${state} ${before}`, () => get("/api/deliveries", query));
  return (
    <section class="page">
      <h1>Deliveries</h1>
      <StateFilter states={DELIVERY_STATES} />
      <Loading from={loaded}>
        {({ deliveries }) => (
          <>
            <Table
              label="Deliveries"
              items={deliveries}
              keyOf={({ id }) => id}
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
            <OlderLink items={deliveries} />
          </>
        )}
      </Loading>
    </section>
  );
}
