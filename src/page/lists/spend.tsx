import type { JSX } from "preact";
import { get } from "../api.ts";
import { Loading, useLoad } from "../parts/load.tsx";
import { Table } from "../parts/table.tsx";
import { formatCost, formatNumber, toLine } from "../parts/text.ts";
import { route, setQuery } from "../router.ts";

const DAY_MS = 86_400_000;
const PERIODS = [1, 7, 30];

/** Tokens and cost by hook, mapping and model. */
export function Spend(): JSX.Element {
  const days = Number(route.value.query.days) || 1;
  const since = new Date(Math.floor(Date.now() / DAY_MS - days + 1) * DAY_MS).toISOString();
  const loaded = useLoad(`spend ${since}`, () => get("/api/spend", { since }));
  return (
    <section class="page">
      <h1>Spend</h1>
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
      <Loading from={loaded}>
        {({ spend }) => (
          <Table
            label="Spend by hook, mapping and model"
            items={spend}
            keyOf={({ hook, mapping, model }) => JSON.stringify([hook, mapping, model])}
            empty={
              <p>
                No run has said what it used. Prices are in <code>agents.prices</code>, limits in{" "}
                <code>agents.budget</code>.
              </p>
            }
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
      </Loading>
    </section>
  );
}
