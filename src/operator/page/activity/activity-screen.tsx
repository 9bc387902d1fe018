import type { JSX } from "preact";
import { Period } from "../inbox/period.tsx";
import { Choices } from "../parts/table.tsx";
import { Title } from "../parts/title.tsx";
import { route } from "../router.ts";
import { type Filter, FILTERS } from "../row.ts";
import { Bulk } from "./bulk-actions.tsx";
import { Charts } from "./activity-charts.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { Recordings } from "./recordings.tsx";
import { RequestList } from "./request-list.tsx";
import { Messages, Turns } from "./work-lists.tsx";

const SHOWN = ["requests", "turns", "messages", "recordings"] as const;
type Shown = (typeof SHOWN)[number];

/** Everything that came and was done, under a filter: requests as they arrive, turns and messages. */
export function Activity(): JSX.Element {
  const { query } = route.value;
  const shown = SHOWN.find((name) => name === query["show"]) ?? "requests";
  const filter: Filter = Object.fromEntries(FILTERS.flatMap((name) => (query[name] ? [[name, query[name]]] : [])));
  return (
    <section class={shown === "requests" ? "feed" : "page"} aria-label="Activity">
      <header class="over">
        <Title text="Activity" />
        <Period />
        <Charts />
        <Choices
          label="Show"
          parameter="show"
          names={SHOWN}
          chosen={shown}
          textOf={(name) => name.slice(0, 1).toUpperCase() + name.slice(1)}
        />
      </header>
      {shown !== "recordings" && <FilterBar shown={shown} filter={filter} />}
      {shown !== "recordings" && <Bulk shown={shown} filter={filter} />}
      {LISTS[shown](filter)}
    </section>
  );
}

const LISTS: Record<Shown, (filter: Filter) => JSX.Element> = {
  requests: (filter) => <RequestList key={JSON.stringify(filter)} filter={filter} />,
  turns: (filter) => <Turns filter={filter} />,
  messages: (filter) => <Messages filter={filter} />,
  recordings: () => <Recordings />,
};
