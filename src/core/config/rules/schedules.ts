import { listFound } from "../../shared/found.ts";
import { appendSegment } from "../../shared/json.ts";
import { findFlaw } from "../../shared/recurrence.ts";
import { trimSlashes } from "../../shared/text/text.ts";
import { DAY_MS, parseDuration } from "../../shared/time.ts";
import { isScheduleHook } from "../../types.ts";
import type { MappingSource } from "../resolved-config.ts";
import { error, type Finding } from "./finding.ts";

/** Settings about a request and its sender. */
const OF_REQUESTS = ["match", "auth", "dedupe", "mail", "answer", "echo", "place", "from"] as const;

const MIN_PERIOD_MS = 60_000;

/** A schedule has times and a name, and it alone starts its mapping. Its hooks are for no other mapping. */
export function checkSchedule(source: MappingSource): Finding[] {
  const { mapping, written = mapping, id, key } = source;
  const { schedule } = mapping;
  if (!schedule) {
    const isTaken = isScheduleHook(trimSlashes(mapping.match?.path ?? ""));
    const message = "The hooks below schedule/ are those of mappings with a schedule. Choose another path.";
    return isTaken ? [error(`${key}.match.path`, message)] : [];
  }
  const at = `${key}.schedule`;
  const flaw = findFlaw(schedule);
  const periodMs = schedule.every === undefined ? MIN_PERIOD_MS : parseDuration(schedule.every);
  const noId = "A schedule needs the mapping's id, which names its hook: schedule/<id>. Add one.";
  const oddId = `The hook schedule/${id} cannot be named. Write the id without a slash at its ends.`;
  return listFound(
    mapping.id === undefined && error(key, noId),
    id !== trimSlashes(id) && error(`${key}.id`, oddId),
    flaw && error(flaw.field === undefined ? at : appendSegment(at, flaw.field), flaw.message),
    (periodMs < MIN_PERIOD_MS || periodMs > DAY_MS) && error(`${at}.every`, "The period must be from 1m to 24h."),
    OF_REQUESTS.filter((name) => written[name] !== undefined).map((name) =>
      error(
        `${key}.${name}`,
        "The schedule starts this mapping, and no request does. Remove this setting, or schedule.",
      ),
    ),
  );
}
