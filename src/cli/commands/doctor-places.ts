import type { JournalReads } from "../../core/journal/journal.ts";
import { compilePlaces } from "../../core/mapping/policy/bounds.ts";
import type { MappingSource, ResolvedConfig } from "../../core/config/resolved-config.ts";
import { DAY_MS } from "../../core/shared/time.ts";
import { trimSlashes } from "../../core/shared/text/text.ts";
import { toPrintable } from "../../core/telemetry/log.ts";
import { readJournal } from "../../stores/read-only.ts";
import { formatCount } from "../format.ts";
import { type CheckResult, note } from "./doctor-machine.ts";

/** How many events of a hook are read, and how many of their places are named. */
const MAX_PAGES = 10;
const PAGE_SIZE = 500;
const MAX_NAMED = 5;

/** The places whose events were skipped in the last day, because `place` does not name them. */
export async function checkSkippedPlaces(config: ResolvedConfig): Promise<CheckResult[]> {
  const bounded = config.hooks.mappings.filter(({ mapping: { place } }) => place !== undefined);
  const hooks = Map.groupBy(bounded, ({ mapping: { match } }) => trimSlashes(match?.path ?? ""));
  if (hooks.size === 0) return [];
  const results = await readJournal(config.store, async (reads) => {
    const found: CheckResult[] = [];
    for (const [hook, [source]] of hooks) {
      found.push(...describeSkipped(await countPlaces(reads, hook), hook, source!));
    }
    return found;
    // The checks of the journal and the database say what is wrong with them.
  }).catch(() => []);
  return results ?? [];
}

/** The number of events by the place that was skipped, of a hook or of all. */
async function countPlaces({ listEvents }: JournalReads, hook: string): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const filter = { status: "skipped", from: Date.now() - DAY_MS, limit: PAGE_SIZE, hook: hook || undefined } as const;
  let before: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const events = await listEvents({ ...filter, before });
    for (const { reason = "" } of events) {
      const place = /^it is about (.*), which is not in place$/.exec(reason)?.[1];
      if (place !== undefined) counts.set(place, (counts.get(place) ?? 0) + 1);
    }
    before = events.at(-1)?.id;
    if (events.length < PAGE_SIZE) break;
  }
  return counts;
}

function describeSkipped(
  counts: ReadonlyMap<string, number>,
  hook: string,
  { id, preset, mapping: { place = [], source } }: MappingSource,
): CheckResult[] {
  const excluded = [place].flat().filter((entry) => entry.startsWith("!"));
  const isExcluded = compilePlaces(
    excluded.map((entry) => entry.slice(1)),
    source?.below,
  );
  const others = [...counts].filter(([name]) => excluded.length === 0 || !isExcluded(name));
  const setting = preset === undefined ? "place" : "with.place";
  return others
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, MAX_NAMED)
    .map(([name, count]) => {
      const events = `${formatCount(count, "event")} of the last day ${count === 1 ? "is" : "are"} about ${toPrintable(name)}`;
      const message = `${events}, which ${setting} does not name. Renamed? Add it.`;
      return note(preset === undefined ? `mapping ${id}` : `preset ${hook}`, message);
    });
}
