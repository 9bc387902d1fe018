import type { JSX } from "preact";
import { call } from "../api-client.ts";
import { confirmed } from "../parts/ask.tsx";
import { notifyOf, State, Time } from "../parts/controls.tsx";
import { formatNumber, toLine } from "../parts/format.ts";
import { Page, useCall } from "../parts/load.tsx";
import { Table } from "../parts/table.tsx";

/** The agents that get events over MCP. */
export function Subscriptions(): JSX.Element {
  const loaded = useCall("GET /api/subscriptions");
  const end = async (id: string, principal: string): Promise<void> => {
    const text = "Its subscriber gets a last message. It can subscribe again.";
    if (!(await confirmed(`End the subscription of ${toLine(principal, 40)}?`, text, "End it"))) return;
    await notifyOf(call("DELETE /api/subscriptions/:id", { id }), () => "Ended.", "Not ended");
    loaded.reload();
  };
  return (
    <Page title="Subscriptions" from={loaded}>
      {({ subscriptions }) => (
        <Table
          label="Subscriptions of agents"
          items={subscriptions}
          keyOf={({ id }) => id}
          empty={
            <p>
              No agent has subscribed. It takes <code>gateway.mcp</code> and a mapping with <code>publish</code>.
            </p>
          }
          columns={[
            { name: "Principal", show: ({ principal }) => <b>{toLine(principal, 40)}</b> },
            { name: "Event", show: ({ event }) => toLine(event, 60) },
            { name: "Callback", kind: "wide", show: ({ url }) => toLine(url, 200) },
            { name: "State", show: ({ state }) => <State state={state} /> },
            { name: "Behind", kind: "number", show: ({ behind }) => formatNumber(behind) },
            { name: "Given up", kind: "number", show: ({ abandonedCount }) => formatNumber(abandonedCount) },
            { name: "Delivered", show: ({ lastDeliveryAt }) => <Time at={lastDeliveryAt} /> },
            { name: "Failing since", show: ({ failingSince }) => <Time at={failingSince} /> },
            { name: "Problem", show: ({ lastError }) => <span class="bad">{toLine(lastError, 120)}</span> },
            {
              name: "Actions",
              show: ({ id, principal, event }) => (
                <button
                  aria-label={`End ${toLine(principal, 40)}, ${toLine(event, 60)}`}
                  onClick={() => void end(id, principal)}
                >
                  End
                </button>
              ),
            },
          ]}
        />
      )}
    </Page>
  );
}
