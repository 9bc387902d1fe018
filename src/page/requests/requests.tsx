import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { allRows } from "../live.ts";
import { toLine } from "../parts/text.ts";
import { route, setQuery } from "../router.ts";
import { Overview } from "./overview.tsx";
import { type Filter, FILTERS, RequestList } from "./request-list.tsx";
import { EVENT_STATUSES } from "../../types.ts";

/** The first screen: how it goes, and every request as it arrives. */
export function Requests(): JSX.Element {
  const { query } = route.value;
  const filter: Filter = Object.fromEntries(FILTERS.flatMap((name) => (query[name] ? [[name, query[name]]] : [])));
  return (
    <section class="feed" aria-label="Requests">
      <h1 class="hidden">Requests</h1>
      <Overview />
      <FilterBar filter={filter} />
      <RequestList key={JSON.stringify(filter)} filter={filter} />
    </section>
  );
}

function FilterBar({ filter }: { filter: Filter }): JSX.Element {
  // A list that changes with every frame could not be chosen from.
  const [names, setNames] = useState({ hooks: new Set<string>(), mappings: new Set<string>() });
  const collect = (): void => {
    const hooks = new Set(allRows().map(({ hook }) => hook));
    setNames({ hooks, mappings: new Set(allRows().flatMap(({ mapping }) => mapping ?? [])) });
  };
  const choose = (name: keyof Filter, options: Iterable<string>): JSX.Element => (
    <select
      aria-label={name}
      value={filter[name] ?? ""}
      class={filter[name] ? "chosen" : ""}
      onFocus={collect}
      onPointerEnter={collect}
      onChange={(event) => setQuery({ [name]: event.currentTarget.value })}
    >
      <option value="">{name}: all</option>
      {[...new Set([...options, filter[name] ?? ""])]
        .filter(Boolean)
        .toSorted()
        .map((option) => (
          <option key={option} value={option}>
            {toLine(option, 60)}
          </option>
        ))}
    </select>
  );
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <input
        type="search"
        name="search"
        aria-label="Search requests"
        placeholder="Search requests and payloads ( / )"
        maxLength={200}
        value={filter.text ?? ""}
        onInput={(event) => setQuery({ text: event.currentTarget.value })}
      />
      {choose("hook", names.hooks)}
      {choose("mapping", names.mappings)}
      {choose("status", EVENT_STATUSES)}
      {filter.session && (
        <button type="button" class="chosen" onClick={() => setQuery({ session: undefined })}>
          session {toLine(filter.session, 30)} ✕
        </button>
      )}
      {Object.keys(filter).length > 0 && (
        <button type="button" onClick={() => setQuery(Object.fromEntries(FILTERS.map((name) => [name, undefined])))}>
          Clear
        </button>
      )}
    </form>
  );
}
