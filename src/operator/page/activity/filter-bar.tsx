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

const WORDS = { requests: REQUEST_FILTERS, turns: TURN_WORDS, messages: MESSAGE_WORDS };

export function FilterBar({ shown, filter }: { shown: Listed; filter: Filter }): JSX.Element {
  // A person chooses these from a list; links of other screens set any.
  const chosen: ChoiceProps["name"][] = shown === "messages" ? ["status"] : ["hook", "mapping", "status"];
  const others = FILTERS.filter((name) => !(["text", "from", "to", ...chosen] as string[]).includes(name));
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
      {chosen.map((name) => (
        <Choice key={name} name={name} value={filter[name]} words={WORDS[shown]} />
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
  name: "hook" | "mapping" | "status";
  value: string | undefined;
  words: readonly string[];
}

function Choice({ name, value = "", words }: ChoiceProps): JSX.Element {
  // A list that changes with every frame could not be chosen from.
  const [known, setKnown] = useState<readonly string[]>([]);
  const collect = (): void => {
    if (name !== "status") setKnown([...new Set(feed.listAll().flatMap((row) => row[name] ?? []))].toSorted());
  };
  const options = name === "status" ? words : known;
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
