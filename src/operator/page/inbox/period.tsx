import type { JSX } from "preact";
import { formatNumber } from "../parts/format.ts";
import { useCall } from "../parts/load.tsx";
import { hrefTo } from "../router.ts";

/** What came in a period and what became of it, each number with its rows. */
export function Period(): JSX.Element {
  const { data } = useCall("GET /api/stats");
  return (
    <p class="period">
      {Object.entries(data?.events ?? {}).map(([name, count]) => (
        <a key={name} href={hrefTo(["activity"], { status: name })}>
          <b>{formatNumber(count)}</b> {name}
        </a>
      ))}
    </p>
  );
}
