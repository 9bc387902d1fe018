import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { formatNumber } from "../parts/format.ts";
import { useCall } from "../parts/load.tsx";
import { hrefTo } from "../router.ts";

const NAMES = ["1h", "24h", "7d"] as const;
export const period = signal<(typeof NAMES)[number]>("24h");

const WORDS = ["done", "skipped", "failed", "refused", "canceled", "unfinished"] as const;

/** The requests of a period and what became of them: a sum, each number with its rows. */
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
        onChange={({ currentTarget: { value } }) => (period.value = NAMES.find((name) => name === value) ?? "24h")}
      >
        {NAMES.map((name) => (
          <option key={name} value={name}>
            Last {name.replace(/\D/, " $&")}:
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
