import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { formatNumber } from "../parts/format.ts";
import { useCall } from "../parts/load.tsx";
import { hrefTo } from "../router.ts";

const PERIODS = { "1h": "1 h", "24h": "24 h", "7d": "7 d" } as const;
export const period = signal<keyof typeof PERIODS>("24h");

const WORDS = ["done", "skipped", "failed", "refused", "canceled", "unfinished"] as const;

/** What came in a period and what became of it: a sum, each number with its rows. */
export function Period(): JSX.Element {
  const { data } = useCall("GET /api/activity", { period: period.value });
  const counts = data && [
    ["received", data.received] as const,
    ...WORDS.map((name) => [name, data.events[name] ?? 0] as const),
  ];
  return (
    <p class="period">
      <select
        aria-label="Period"
        value={period.value}
        onChange={({ currentTarget: { value } }) => {
          if (value in PERIODS) period.value = value as keyof typeof PERIODS;
        }}
      >
        {Object.entries(PERIODS).map(([name, text]) => (
          <option key={name} value={name}>
            Last {text}:
          </option>
        ))}
      </select>
      {counts
        ?.filter(([name, count]) => count > 0 || name === "received")
        .map(([name, count]) => (
          <a
            key={name}
            class={name === "failed" ? "bad" : undefined}
            href={hrefTo(["activity"], { from: data?.from, status: name === "received" ? undefined : name })}
          >
            <b>{formatNumber(count)}</b> {name === "unfinished" ? "not finished" : name}
          </a>
        ))}
    </p>
  );
}
