import type { JSX } from "preact";
import { toLine } from "../parts/text.ts";
import { hrefTo, route, setQuery } from "../router.ts";

/** How many items a list shows at once. */
export const PAGE_SIZE = 200;

export function EventLink({
  id,
  row,
  children = "event",
}: {
  id?: string;
  row?: string;
  children?: string;
}): JSX.Element {
  if (id === undefined) return <span class="quiet">{children}</span>;
  return (
    <a href={hrefTo(["events", id])} data-row={row} data-event={id}>
      {children}
    </a>
  );
}

/** A choice of states that is part of the place's URL. */
export function StateFilter({ states }: { states: readonly string[] }): JSX.Element {
  const { state = "" } = route.value.query;
  return (
    <p class="choices" role="group" aria-label="State">
      {["", ...states].map((choice) => (
        <button
          key={choice}
          type="button"
          aria-pressed={state === choice}
          onClick={() => setQuery({ state: choice, before: "" })}
        >
          {choice || "all"}
        </button>
      ))}
    </p>
  );
}

/** Leads to what is older, when the list is full. */
export function OlderLink({ items }: { items: readonly { id: string }[] }): JSX.Element | null {
  const { path, query } = route.value;
  if (items.length < PAGE_SIZE) return null;
  return (
    <a class="button" href={hrefTo(path, { ...query, before: items.at(-1)?.id })}>
      Older
    </a>
  );
}

export function ResultText({ reply, error }: { reply?: string; error?: string }): JSX.Element {
  return error === undefined ? <span>{toLine(reply, 160)}</span> : <span class="bad">{toLine(error, 160)}</span>;
}
