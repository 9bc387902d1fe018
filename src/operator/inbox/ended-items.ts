import type { Journal } from "../../core/journal/journal.ts";
import { DAY_MS } from "../../core/shared/time.ts";
import { toIso } from "../iso-times.ts";
import type { InboxItem } from "./item.ts";

/** How the failures of an item can end. */
export type FailureEnd = "retried" | "replayed" | "canceled";

type EndedJournal = Pick<Journal, "listNotes" | "writeNotes">;

/** The kind of notes that keep items of failures that are over, each under its id. */
const KIND = "ended-item";
const KEPT_MS = 30 * DAY_MS;

/** Does what may end failures. Items of which nothing is left after it stay readable by their ids. */
export async function keepEnded<Result>(
  end: FailureEnd,
  { journal, readFailed }: { journal: EndedJournal; readFailed(): Promise<InboxItem[]> },
  work: () => Promise<Result>,
): Promise<Result> {
  const before = await readFailed();
  const result = await work();
  if (before.length === 0) return result;
  const left = new Set((await readFailed()).map(({ id }) => id));
  const ended = before.filter(({ id }) => !left.has(id));
  if (ended.length === 0) return result;
  const now = Date.now();
  const notes = ended.map((item) => {
    const over: InboxItem = { ...item, actions: [], ended: { at: toIso(now), by: "operator", word: end } };
    return { kind: KIND, key: item.id, json: JSON.stringify(over), expiresAt: now + KEPT_MS };
  });
  await journal.writeNotes(notes);
  return result;
}

/** The item of failures that are over; undefined if there was none with this id. */
export async function readEnded(id: string, journal: EndedJournal): Promise<InboxItem | undefined> {
  const note = (await journal.listNotes(KIND)).find(({ key }) => key === id);
  return note && JSON.parse(note.json);
}
