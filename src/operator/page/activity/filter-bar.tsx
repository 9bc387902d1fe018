import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { MESSAGE_WORDS, REQUEST_FILTERS, TURN_WORDS } from "../../../core/shared/words.ts";
import { feed } from "../live.ts";
import { toLine } from "../parts/format.ts";
import { TimeFilter } from "../parts/times.tsx";
import { setQuery } from "../router.ts";
import { type Filter, FILTERS } from "../row.ts";
import { SavedViews } from "./saved-views.tsx";

type Listed = "requests" | "turns" | "messages";

/** The filters that a person chooses from a list; links of other screens set any. */
const CHOSEN: Record<Listed, readonly (keyof Filter)[]> = {
  requests: ["hook", "mapping", "status"],
  turns: ["hook", "mapping", "status"],
  messages: ["status"],
};
const WORDS: Record<Listed, readonly string[]> = {
  requests: REQUEST_FILTERS,
  turns: TURN_WORDS,
  messages: MESSAGE_WORDS,
};

export function FilterBar({ shown, filter }: { shown: Listed; filter: Filter }): JSX.Element {
  // A list that changes with every frame could not be chosen from.
  const [names, setNames] = useState<Partial<Record<keyof Filter, Set<string>>>>({});
  const collect = (): void => {
    const rows = feed.listAll();
    setNames({
      hook: new Set(rows.map(({ hook }) => hook)),
      mapping: new Set(rows.flatMap(({ mapping }) => mapping ?? [])),
    });
  };
  const others = FILTERS.filter((name) => !["text", "from", "to", ...CHOSEN[shown]].includes(name));
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      {shown === "requests" && (
        <input
          type="search"
          name="search"
          aria-label="Search requests"
          placeholder="Search, or payload.action = opened ( / )"
          title="Text of a payload, a prompt, a reply or an error, in any case. A field: payload.repository.full_name = acme/shop, headers.x-github-delivery = …"
          maxLength={200}
          value={filter.text ?? ""}
          onInput={(event) => setQuery({ text: event.currentTarget.value })}
        />
      )}
      <TimeFilter />
      {CHOSEN[shown].map((name) => (
        <Choice
          key={name}
          name={name}
          value={filter[name]}
          options={name === "status" ? WORDS[shown] : [...(names[name] ?? [])].toSorted()}
          collect={collect}
        />
      ))}
      {others.map(
        (name) =>
          filter[name] && (
            <button key={name} type="button" class="chosen" onClick={() => setQuery({ [name]: undefined })}>
              {name === "group" ? "error" : name} {toLine(filter[name], 30)} ✕
            </button>
          ),
      )}
      {Object.keys(filter).length > 0 && (
        <button
          type="button"
          onClick={() =>
            setQuery(Object.fromEntries([...FILTERS, "period", "before"].map((name) => [name, undefined])))
          }
        >
          Clear
        </button>
      )}
      <SavedViews />
    </form>
  );
}

interface ChoiceProps {
  name: keyof Filter;
  value: string | undefined;
  options: readonly string[];
  collect(): void;
}

function Choice({ name, value = "", options, collect }: ChoiceProps): JSX.Element {
  return (
    <select
      aria-label={name}
      value={value}
      class={value === "" ? "" : "chosen"}
      onFocus={collect}
      onPointerEnter={collect}
      onChange={({ currentTarget }) => setQuery({ [name]: currentTarget.value, before: undefined })}
    >
      <option value="">{name}: all</option>
      {[...new Set([...options, value])].filter(Boolean).map((option) => (
        <option key={option} value={option}>
          {option === "unfinished" ? "not finished" : toLine(option, 60)}
        </option>
      ))}
    </select>
  );
}
