import { toVisible } from "../../core/boundary/visible.ts";
import type { EventSummary } from "../../core/journal/journal.ts";
import { DAY_MS } from "../../core/shared/time.ts";
import { toIso } from "../iso-times.ts";
import type { Rejection } from "../rejections.ts";
import { type InboxItem, toActivity, toFacts, toLinks } from "./item.ts";

const UNKNOWN_MS = 7 * DAY_MS;
/** Fewer may be a mistake. */
const MIN_REQUESTS = 2;
/** The newest of them: a scanner asks for thousands. */
const MAX_NAMES = 5;

/** Senders whose hook no mapping takes. */
export function toUnknownItems(rejections: readonly Rejection[], now: number): InboxItem[] {
  const bodies = rejections.filter(
    ({ reason, hook, size = 0, at }) =>
      reason === "no_such_hook" && hook !== undefined && size > 0 && now - at < UNKNOWN_MS,
  );
  const byHook = Map.groupBy(bodies, ({ hook = "" }) => hook);
  const known = [...byHook].filter(([, requests]) => countOf(requests) >= MIN_REQUESTS);
  return known.slice(0, MAX_NAMES).map(([hook, requests]): InboxItem => {
    const times = requests.map(({ at }) => at);
    const clients = [...new Set(requests.map(({ client }) => client))].slice(0, MAX_NAMES);
    return {
      id: `unknown:${hook}`,
      part: "unknown",
      title: `${toVisible(hook)} has no mapping`,
      subject: `${countOf(requests)} requests from ${clients.join(", ")}`,
      since: toIso(Math.max(...times)),
      count: countOf(requests),
      blocks: [
        ...toFacts("service", { Clients: clients.join(", "), First: toIso(Math.min(...times)) }),
        ...toLinks({
          "Show all": toActivity({ status: "refused", hook }),
          "Show what is recorded": toActivity({ show: "recordings" }),
        }),
      ],
      actions: [
        { id: "record", label: "Record the next 20", method: "POST", path: "/api/recordings", body: { path: hook } },
      ],
    };
  });
}

function countOf(requests: readonly Rejection[]): number {
  return requests.reduce((sum, { repeated = 0 }) => sum + 1 + repeated, 0);
}

/** Events of the last day that `place` or `from` left out, by mapping. */
export function toLeftItems(skipped: readonly EventSummary[]): InboxItem[] {
  const left = skipped.filter(({ leftOutBy }) => leftOutBy !== undefined);
  return [...Map.groupBy(left, ({ mapping, hook }) => mapping ?? hook)].map(([mapping, events]): InboxItem => {
    const [newest] = events;
    const counts = Map.groupBy(events, ({ leftOutBy }) => leftOutBy);
    const by = (rule: "from" | "place"): number | undefined => counts.get(rule)?.length;
    return {
      id: `left:${mapping}`,
      part: "left",
      title: toVisible(mapping),
      subject: toVisible(newest?.reason ?? ""),
      since: toIso(newest?.receivedAt ?? 0),
      count: events.length,
      blocks: [
        ...toFacts("service", { "By from": by("from"), "By place": by("place") }),
        ...toLinks({ "Show all": toActivity({ mapping, status: "skipped" }) }),
      ],
      actions: [],
    };
  });
}
