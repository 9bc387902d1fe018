import type { JSX } from "preact";
import { DELIVERY_STATES } from "../../types.ts";
import { get } from "../api.ts";
import { State, Time } from "../parts/controls.tsx";
import { Loading, useLoad } from "../parts/load.tsx";
import { Table } from "../parts/table.tsx";
import { toLine } from "../parts/text.ts";
import { route } from "../router.ts";
import { PAGE_SIZE, EventLink, OlderLink, ResultText, StateFilter } from "./list.tsx";

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
