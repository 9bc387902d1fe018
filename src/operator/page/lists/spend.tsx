import type { JSX } from "preact";
import { addUpSpend, type SpendSum } from "../../../core/shared/spend-sum.ts";
import { DAY_MS, startOfDay } from "../../../core/shared/time.ts";
import type { SpendView, StatusView } from "../api-client.ts";
import { formatCost, formatNumber, toLine } from "../parts/format.ts";
import { Page, useCall } from "../parts/load.tsx";
import { Choices, type Column, Table } from "../parts/table.tsx";
import { hrefTo, route } from "../router.ts";

/** By name: how many days ago they begin, and end. */
const PERIODS: Record<string, [number, number]> = {
  today: [0, 0],
  yesterday: [1, 1],
  "7 days": [6, 0],
  "30 days": [29, 0],
};
const GROUPS = ["hook", "mapping", "model"] as const;
type Group = (typeof GROUPS)[number];

/** The tokens and the cost of turns, by hook, mapping or model, and by day. */
export function Spend(): JSX.Element {
  const { period = "today", by = "hook" } = route.value.query;
  const [first, last] = PERIODS[period] ?? [0, 0];
  const group = GROUPS.find((name) => name === by) ?? "hook";
  const from = startOfDay() - first * DAY_MS;
  const since = new Date(from).toISOString();
  const until = new Date(startOfDay() + (1 - last) * DAY_MS).toISOString();
  const loaded = useCall("GET /api/spend", { since, until });
  const { data: status } = useCall("GET /api/status");
  const choices = (
    <>
      <Choices label="Period" parameter="period" names={Object.keys(PERIODS)} chosen={period} />
      <Choices label="By" parameter="by" names={GROUPS} chosen={group} textOf={(name) => `by ${name}`} />
      <Budget budget={status?.budget} />
    </>
  );
  return (
    <Page title="Spend" intro={choices} from={loaded}>
      {({ spend, currency = "" }) => (
        <>
          <Sums spend={spend} group={group} amounts={toAmounts(currency)} />
          {first > 1 && <Days spend={spend} from={from} amounts={toAmounts(currency)} />}
          <p class="quiet">Days begin at 00:00 UTC.</p>
        </>
      )}
    </Page>
  );
}

function Budget({ budget }: { budget: StatusView["budget"] }): JSX.Element | null {
  if (!budget) return null;
  const { perDay, spentToday, heldRuns, unit, currency = unit } = budget;
  const isUsedUp = perDay !== undefined && spentToday >= perDay;
  const write = (amount: number): string => (unit === "cost" ? formatCost(amount) || "0" : formatNumber(amount));
  return (
    <p class="facts">
      <span class={isUsedUp ? "bad" : undefined}>
        Budget of today: {write(spentToday)}
        {perDay !== undefined && ` of ${write(perDay)}`} {currency}
      </span>
      {perDay !== undefined && (
        <meter class={isUsedUp ? "bad" : undefined} min={0} max={perDay} value={spentToday} aria-label="budget used" />
      )}
      {heldRuns > 0 && <a href={hrefTo(["activity"], { show: "turns", status: "held" })}>Turns are held</a>}
    </p>
  );
}

const BLANK: Record<Group, string> = { hook: "heartbeat", mapping: "no mapping", model: "no model named" };

type Rows = readonly SpendView[];
type Amounts = Column<SpendSum>[];

function Sums({ spend, group, amounts }: { spend: Rows; group: Group; amounts: Amounts }): JSX.Element {
  const sums = [...Map.groupBy(spend, (row) => row[group])]
    .map(([name, rows]) => addUpSpend(name || BLANK[group], rows))
    .toSorted((one, other) => other.cost - one.cost || other.inputTokens - one.inputTokens);
  return (
    <Table
      label={`Spend by ${group}`}
      items={sums.length > 1 ? [...sums, addUpSpend("total", spend)] : sums}
      keyOf={({ name }) => name}
      empty={
        <p>
          No turn has said what it used. Prices are in <code>agents.prices</code>, limits in <code>agents.budget</code>.
        </p>
      }
      columns={[
        [group.slice(0, 1).toUpperCase() + group.slice(1), ({ name }) => <b>{toLine(name, 80)}</b>, "wide"],
        ...amounts,
      ]}
    />
  );
}

const toAmounts = (currency: string): Amounts => [
  ["Turns", ({ runs }) => formatNumber(runs), "number"],
  ["Tokens in", ({ inputTokens }) => formatNumber(inputTokens), "number"],
  ["Tokens out", ({ outputTokens }) => formatNumber(outputTokens), "number"],
  [`Cost ${currency}`.trim(), ({ cost }) => formatCost(cost, 4), "number"],
];

/** A bar for each day, of its cost, or of its tokens if nothing has a price. */
function Days({ spend, from, amounts }: { spend: Rows; from: number; amounts: Amounts }): JSX.Element {
  const byDay = Map.groupBy(spend, ({ day }) => day);
  const days: SpendSum[] = [];
  for (let at = from; at <= Date.now(); at += DAY_MS) {
    const day = new Date(at).toISOString().slice(0, 10);
    days.push(addUpSpend(day, byDay.get(day) ?? []));
  }
  const amountOf = ({ cost, inputTokens, outputTokens }: SpendSum): number =>
    days.some((day) => day.cost > 0) ? cost : inputTokens + outputTokens;
  const highest = Math.max(...days.map(amountOf), Number.MIN_VALUE);
  return (
    <>
      <h2>By day</h2>
      <Table
        label="Spend by day"
        items={days.toReversed()}
        keyOf={({ name }) => name}
        empty=""
        columns={[
          ["Day", ({ name }) => name],
          [
            "Share",
            (day) => <meter min={0} max={highest} value={amountOf(day)} aria-label={`spend of ${day.name}`} />,
            "wide",
          ],
          ...amounts,
        ]}
      />
    </>
  );
}
