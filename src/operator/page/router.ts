import { computed, effect, signal } from "@preact/signals";

/** Where the page is: `#/events/<id>?hook=github`. Everything that it shows can be linked to. */
interface Route {
  /** Decoded: `["events", "<id>"]`. */
  path: string[];
  query: Record<string, string>;
}

const hash = signal(location.hash);

/** Where a person was in a place: how far each list was scrolled, and the row that had the focus. */
interface Spot {
  scrolled: Map<string, number>;
  row?: string;
}

/** By entry of the browser's history. */
const spots = new Map<string, Spot>();
let spot = startEntry();
/** A heading that appears gets the focus, once, after a step to another place. */
let isArriving = false;

window.addEventListener("hashchange", () => {
  const known = spots.get(history.state?.entry);
  spot = known ?? startEntry();
  isArriving = !known;
  hash.value = location.hash;
  if (known) restore(known);
});
document.addEventListener(
  "scroll",
  ({ target }) => {
    if (target instanceof HTMLElement) spot.scrolled.set(target.tagName + target.className, target.scrollTop);
  },
  true,
);
document.addEventListener("focusin", ({ target }) => {
  if (target instanceof HTMLElement && target.dataset["row"]) spot.row = target.dataset["row"];
});

function startEntry(): Spot {
  const entry = crypto.randomUUID?.() ?? String(performance.now());
  history.replaceState({ entry }, "");
  const started: Spot = { scrolled: new Map() };
  spots.set(entry, started);
  return started;
}

const RESTORE_MS = 3000;

/** The content comes later than the place. */
function restore({ scrolled, row }: Spot): void {
  const wanted = [...scrolled];
  const until = performance.now() + RESTORE_MS;
  const of = spot;
  const step = (): void => {
    if (spot !== of || performance.now() > until) return;
    const isScrolled = wanted.every(([name, top]) => {
      const element = [...document.querySelectorAll<HTMLElement>("main, .pane, .scroller")].find(
        (each) => each.tagName + each.className === name,
      );
      element?.scrollTo({ top });
      return element !== undefined && Math.abs(element.scrollTop - top) < 2;
    });
    const link = row === undefined ? undefined : document.querySelector<HTMLElement>(`[data-row="${CSS.escape(row)}"]`);
    link?.focus({ preventScroll: true });
    if (!isScrolled || (row !== undefined && !link)) requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}

const title = signal("");
/** How many things wait for a person. */
export const waiting = signal(0);
effect(() => {
  if (title.value !== "") document.title = `${waiting.value > 0 ? `(${waiting.value}) ` : ""}${title.value} · Hookline`;
});

/** Called by the heading of a place that is shown. A place that only opens a row has no new heading, and scrolls nothing. */
export function arrive(heading: HTMLElement | null, text: string): void {
  title.value = text;
  if (!isArriving || !heading) return;
  isArriving = false;
  heading.closest("main, .pane")?.scrollTo({ top: 0 });
  heading.focus({ preventScroll: true });
}

export const route = computed<Route>(() => toPlace(parsePlace(hash.value.replace(/^#\/?/, ""))));

function parsePlace(place: string): Route {
  const [path = "", search = ""] = place.split(/\?(.*)/s);
  return {
    path: path.split("/").filter(Boolean).map(decode),
    query: Object.fromEntries(new URLSearchParams(search)),
  };
}

/** Earlier addresses, which are kept in bookmarks and messages: the place of each now. */
const MOVED: Record<string, string> = {
  inbox: "",
  approvals: "",
  runs: "activity?show=turns",
  deliveries: "activity?show=messages",
  "dead-letters": "activity?show=turns&status=failed",
  refused: "activity?status=refused",
  recordings: "activity?show=recordings",
  subscriptions: "system",
  mailboxes: "system",
  playground: "mappings/new",
};

function toPlace({ path, query }: Route): Route {
  const [first, ...rest] = path;
  // The list of requests was the first screen.
  if (first === undefined) return { path: Object.keys(query).length > 0 ? ["activity"] : [], query };
  if (rest.length > 0) return { path: [first === "approvals" ? "inbox" : first, ...rest], query };
  const moved = MOVED[first];
  if (moved === undefined) return { path, query };
  const { state, kind, mapping, ...others } = query;
  if (first === "playground" && mapping) return { path: ["mappings", mapping, "edit"], query: others };
  const now = parsePlace(moved);
  const named = {
    ...(state && { status: state }),
    ...(kind === "delivery" && { show: "messages" }),
    ...(mapping && { mapping }),
  };
  return { path: now.path, query: { ...others, ...now.query, ...named } };
}

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
  history.replaceState(history.state, "", hrefTo(path, { ...query, ...changes }));
  hash.value = location.hash;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
