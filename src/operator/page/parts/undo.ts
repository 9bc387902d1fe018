import { signal } from "@preact/signals";

/** Something that a person asked for and can still take back: nothing was said to the service. */
interface Pending {
  /** Its name once it is done: `Approved`. */
  word: string;
  /** When it is done, in milliseconds since the epoch. */
  at: number;
}

const UNDO_MS = 5000;

/** By the id of what it is about. */
export const pending = signal<ReadonlyMap<string, Pending>>(new Map());

type Act = (isLeaving: boolean) => void;
const acts = new Map<string, { act: Act; timer: ReturnType<typeof setTimeout> }>();

/** Does something in five seconds, or at once when the page is hidden or left. Anything else for the same id is ignored until then. */
export function later(id: string, word: string, act: Act): void {
  if (acts.has(id)) return;
  acts.set(id, { act, timer: setTimeout(() => undo(id)?.(false), UNDO_MS) });
  pending.value = new Map(pending.value).set(id, { word, at: Date.now() + UNDO_MS });
}

/** Takes it back; undefined if it was done already. */
export function undo(id: string): Act | undefined {
  const found = acts.get(id);
  if (!found) return undefined;
  clearTimeout(found.timer);
  acts.delete(id);
  const rest = new Map(pending.value);
  rest.delete(id);
  pending.value = rest;
  return found.act;
}

function actNow(): void {
  for (const id of acts.keys()) undo(id)?.(true);
}

window.addEventListener("pagehide", actNow);
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "hidden") actNow();
});
