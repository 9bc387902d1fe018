import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { toLine } from "../parts/format.ts";
import { toTimes } from "../parts/times.tsx";
import { route, setQuery } from "../router.ts";
import { FILTERS } from "../row.ts";

const KEY = "hookline views";
const MAX_NAME = 60;
const NAMES = [...FILTERS, "period"] as const;

/** Queries of this screen by the names that a person gave them, in this browser. */
const views = signal<Record<string, string>>(read());

/** Anything else may have written it. */
function read(): Record<string, string> {
  try {
    const stored: object = Object(JSON.parse(localStorage.getItem(KEY) ?? "{}"));
    const entries: [string, unknown][] = Object.entries(stored);
    return Object.fromEntries(entries.flatMap(([name, query]) => (typeof query === "string" ? [[name, query]] : [])));
  } catch {
    return {};
  }
}

function save(changed: Record<string, string>): void {
  views.value = changed;
  try {
    localStorage.setItem(KEY, JSON.stringify(changed));
  } catch {
    // The browser keeps nothing: the views last as long as the tab.
  }
}

/** A period is kept by its name: its times are others tomorrow. */
function toView(query: Record<string, string>): string {
  const kept = query["period"] ? NAMES.filter((name) => name !== "from" && name !== "to") : NAMES;
  return new URLSearchParams(kept.flatMap((name) => (query[name] ? [[name, query[name]]] : []))).toString();
}

function open(view: string | undefined): void {
  const chosen = Object.fromEntries(new URLSearchParams(view));
  const all = Object.fromEntries(NAMES.map((name) => [name, chosen[name]]));
  setQuery({ ...all, ...(chosen["period"] && toTimes(chosen["period"])), before: undefined });
}

/** The choice of a saved view, and what saves or forgets the current one. */
export function SavedViews(): JSX.Element {
  const view = toView(route.value.query);
  const names = Object.keys(views.value).toSorted();
  const current = names.find((each) => views.value[each] === view);
  const saveAs = (): void => {
    const name = prompt("Name of the view")?.trim().slice(0, MAX_NAME) ?? "";
    if (name !== "") save({ ...views.value, [name]: view });
  };
  const forget = (): void => save(Object.fromEntries(Object.entries(views.value).filter(([each]) => each !== current)));
  return (
    <>
      {names.length > 0 && (
        <select
          aria-label="view"
          class={current === undefined ? "" : "chosen"}
          value={current ?? ""}
          onChange={({ currentTarget: { value } }) => open(views.value[value])}
        >
          <option value="">view: none</option>
          {names.map((each) => (
            <option key={each} value={each}>
              {toLine(each, MAX_NAME)}
            </option>
          ))}
        </select>
      )}
      {view !== "" && (
        <button type="button" onClick={current === undefined ? saveAs : forget}>
          {current === undefined ? "Save view" : "Forget view"}
        </button>
      )}
    </>
  );
}
