import type { FindParser } from "../ingress/parse-body.ts";
import type { Journal } from "../journal/journal.ts";
import { listSince, type StoredEventFilter } from "./replay.ts";
import { toEventTimeline } from "./views.ts";

/** The timelines of all matching events, newest first, one line of JSON each. */
export async function* exportEvents(
  journal: Journal,
  filter: StoredEventFilter,
  findParser: FindParser,
): AsyncGenerator<string> {
  for await (const event of listSince(journal, filter)) {
    yield `${JSON.stringify(await toEventTimeline(event, findParser))}\n`;
  }
}
