import { computed, signal } from "@preact/signals";

/** Where the page is: `#/events/<id>?hook=github`. Everything that it shows can be linked to. */
interface Route {
  /** Decoded: `["events", "<id>"]`. */
  path: string[];
  query: Record<string, string>;
}

const hash = signal(location.hash);
window.addEventListener("hashchange", () => (hash.value = location.hash));

export const route = computed<Route>(() => {
  const [path = "", search = ""] = hash.value.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { path: path.split("/").filter(Boolean).map(decode), query: Object.fromEntries(new URLSearchParams(search)) };
});

/** The link to a place; parameters without a value are left out. */
export function hrefTo(path: readonly string[], query: Record<string, string | undefined> = {}): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  const search = given.length > 0 ? `?${new URLSearchParams(given)}` : "";
  return `#/${path.map(encodeURIComponent).join("/")}${search}`;
}

export function goTo(path: readonly string[], query?: Record<string, string | undefined>): void {
  location.hash = hrefTo(path, query);
}

/** Changes parameters of the place without a step in the browser's history. */
export function setQuery(changes: Record<string, string | undefined>): void {
  const { path, query } = route.value;
  history.replaceState(null, "", hrefTo(path, { ...query, ...changes }));
  hash.value = location.hash;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
