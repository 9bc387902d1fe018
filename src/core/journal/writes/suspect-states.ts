import { HOUR_MS } from "../../shared/time.ts";
import type { RunLimits } from "../records/run.ts";
import { integer, optional, type Row, text } from "../columns.ts";
import { SUSPECT_AFTER, SUSPECT_DELIVERY, SUSPECT_RUN } from "../conditions.ts";
import { MAX_CORRECTION_MS, MAX_RETRY_MS } from "../waits.ts";
import { countFree, findNextStart } from "./limits.ts";
import type { Work, Writer } from "./writer.ts";

/** The pause of a suspect that was alone when the process ended: it doubles each time. */
const FIRST_PAUSE_MS = 5000;
/** Doubled more often, it is an hour. */
const DOUBLED = 9;

/** Changes the columns of a run or delivery whose process ended during its attempt. `now`: the store's clock. */
export const toInterrupted = (now: string): string => `
  interruptions = interruptions + 1, interrupted_at = coalesce(interrupted_at, ${now}),
  not_before = CASE
    WHEN interruptions < ${SUSPECT_AFTER} THEN not_before
    WHEN interruptions > ${SUSPECT_AFTER + DOUBLED} THEN ${now} + ${HOUR_MS}
    ELSE ${now} + (${FIRST_PAUSE_MS} << (interruptions - ${SUSPECT_AFTER})) END`;

/** The process did not end during this attempt: the attempts that count are those that failed. `uncounted`: how many did not fail either. */
export const toSurvived = (uncounted: string): string =>
  `attempts = attempts - interruptions - ${uncounted}, interruptions = 0, interrupted_at = NULL`;

/** When its wait is over. It is over at once if the clock was set back since it began. */
const WAIT_END = `CASE WHEN not_before IS NULL OR not_before > $1::bigint + ${MAX_RETRY_MS} OR interrupted_at > $1::bigint + ${MAX_CORRECTION_MS}
  THEN 0 ELSE not_before END`;

const UNPAUSED = "mapping NOT IN (SELECT mapping FROM hookline.pauses)";

export interface FoundSuspect {
  kind: "run" | "delivery";
  id: string;
  /** With `seq` and, of a run, `mapping`. */
  row: Row;
}

/** The suspect that may be claimed at a time of the store's clock and has been one for the longest time. */
export function* findSuspect(writer: Writer, at: number, limits: RunLimits): Work<FoundSuspect | undefined> {
  const found: FoundSuspect[] = [];
  for (const row of yield* writer.all(DUE_RUNS, [at])) {
    const limit = limits.get(text(row.mapping));
    if (limit && (yield* countFree(writer, text(row.mapping), limit, at)) <= 0) continue;
    found.push({ kind: "run", id: text(row.id), row });
    break;
  }
  const delivery = yield* writer.get(DUE_DELIVERIES, [at]);
  if (delivery) found.push({ kind: "delivery", id: text(delivery.id), row: delivery });
  return found.toSorted((one, other) => sinceOf(one) - sinceOf(other))[0];
}

function sinceOf({ row }: FoundSuspect): number {
  return integer(row.interrupted_at);
}

const DUE_RUNS = `
  SELECT id, seq, mapping, interrupted_at FROM hookline.runs WHERE ${SUSPECT_RUN} AND ${UNPAUSED} AND ${WAIT_END} <= $1
  ORDER BY interrupted_at, seq`;
const DUE_DELIVERIES = `
  SELECT id, seq, interrupted_at FROM hookline.deliveries WHERE ${SUSPECT_DELIVERY} AND ${WAIT_END} <= $1
  ORDER BY interrupted_at, seq LIMIT 1`;

/** When the next suspect may be claimed, by the store's clock; Infinity if there is none. */
export function* findNextSuspect(reader: Pick<Writer, "all" | "get">, at: number, limits: RunLimits): Work<number> {
  let next = toTime(yield* reader.get(NEXT_DELIVERY, [at]));
  for (const row of yield* reader.all(NEXT_RUNS, [at])) {
    const limit = limits.get(text(row.mapping));
    const allowedAt = limit ? yield* findNextStart(reader, text(row.mapping), limit) : 0;
    next = Math.min(next, Math.max(toTime(row), allowedAt));
  }
  return next;
}

function toTime(row: Row | undefined): number {
  return optional(integer, row?.at ?? null) ?? Infinity;
}

const NEXT_RUNS = `
  SELECT mapping, min(${WAIT_END}) AS at FROM hookline.runs WHERE ${SUSPECT_RUN} AND ${UNPAUSED} GROUP BY mapping`;
const NEXT_DELIVERY = `SELECT min(${WAIT_END}) AS at FROM hookline.deliveries WHERE ${SUSPECT_DELIVERY}`;
