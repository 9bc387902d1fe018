import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../core/errors.ts";
import type { Journal } from "../core/journal/journal.ts";
import { DAY_MS, HOUR_MS } from "../core/shared/time.ts";
import { type EventCounts, type RunCounts, toEventCounts, toRunCounts } from "../core/shared/words.ts";
import type { Activity } from "../core/telemetry/activity.ts";
import type { Log } from "../core/telemetry/log.ts";
import { TALLY_MS } from "../core/telemetry/tally-counter.ts";
import { toIso } from "./iso-times.ts";

/** Each period, and the steps in which it is shown. */
const PERIODS = {
  "1h": { ms: HOUR_MS, stepMs: TALLY_MS },
  "24h": { ms: DAY_MS, stepMs: TALLY_MS },
  "7d": { ms: 7 * DAY_MS, stepMs: HOUR_MS },
} as const;
export type Period = keyof typeof PERIODS;
export const PERIOD_NAMES = ["1h", "24h", "7d"] as const satisfies Period[];

/** The requests of a period, and the work of the service in it. */
export interface ActivityView {
  period: Period;
  from: string;
  /** All requests: those that are counted in `events`. */
  received: number;
  /** The requests by word. Refused: also those whose sender was not known. */
  events: EventCounts;
  /** The turns at the moment. Counting ends at `countedTo`. */
  runs: RunCounts;
  countedTo: number;
  /** How long a step is, in minutes. */
  stepMinutes: number;
  /** Oldest first. A step in which the service did not run is left out. */
  steps: ActivityStep[];
}

interface ActivityStep {
  at: string;
  /** Answered requests to hooks, of which `clientErrors` with 4xx and `serverErrors` with 5xx. */
  requests: number;
  clientErrors: number;
  serverErrors: number;
  /** The time to the answer in milliseconds, of all of them and of the slowest. */
  totalMs: number;
  slowestMs: number;
  /** Requests that were refused before their sender was known. */
  refused: number;
  turns: number;
  failedTurns: number;
}

export interface ActivityLog {
  /** Read twice a second at most, for all who ask. Nobody gets what is older than the question. */
  read(period: Period): Promise<ActivityView>;
  start(): void;
  /** Writes what is not written yet. */
  close(): Promise<void>;
}

const WRITE_EVERY_MS = 10_000;
const READ_AFTER_MS = 500;
/** More of one word are not counted. */
const MAX_COUNT = 10_000;

/** Writes the counts of the service to the journal, and reads those of all nodes, also of those before. */
export function createActivityLog(
  { activity: { tallies }, log }: { activity: Pick<Activity, "tallies">; log: Log },
  journal: Pick<Journal, "addTallies" | "listTallies" | "countSince" | "countWork">,
): ActivityLog {
  const reads = new Map<Period, { at: number; view: Promise<ActivityView> }>();
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

  return {
    read(period) {
      const known = reads.get(period);
      const waitMs = known ? known.at + READ_AFTER_MS - performance.now() : 0;
      // The wait has not begun.
      if (known && waitMs > READ_AFTER_MS) return known.view;
      const view = waitMs > 0 ? sleep(waitMs).then(() => read(period)) : read(period);
      reads.set(period, { at: performance.now() + Math.max(0, waitMs), view });
      view.catch(() => reads.delete(period));
      return view;
    },
    start() {
      timer = setInterval(() => void write(), WRITE_EVERY_MS).unref();
      void write();
    },
    close() {
      clearInterval(timer);
      return write();
    },
  };

  /** One after the other. What cannot be written is written the next time. */
  function write(): Promise<void> {
    writing = writing.then(writeTaken);
    return writing;
  }

  async function writeTaken(): Promise<void> {
    const taken = tallies.take();
    if (taken.length === 0) return;
    try {
      await journal.addTallies(taken);
    } catch (error) {
      tallies.giveBack(taken);
      log.warn("counts were not written, will try again", { error: messageOf(error) });
    }
  }

  async function read(period: Period): Promise<ActivityView> {
    await write();
    const { ms, stepMs } = PERIODS[period];
    const from = Date.now() - ms;
    const [rows, events, { runs }] = await Promise.all([
      journal.listTallies(from - (from % stepMs), stepMs),
      journal.countSince(from),
      journal.countWork(MAX_COUNT),
    ]);
    const steps = toSteps(rows);
    const refused = events.rejected + steps.reduce((sum, step) => sum + step.refused, 0);
    return {
      period,
      from: toIso(from),
      received: Object.values(events).reduce((sum, count) => sum + count, refused - events.rejected),
      events: { ...toEventCounts(events), refused },
      runs: toRunCounts(runs),
      countedTo: MAX_COUNT,
      stepMinutes: stepMs / 60_000,
      steps,
    };
  }
}

const NOTHING = {
  requests: 0,
  clientErrors: 0,
  serverErrors: 0,
  totalMs: 0,
  slowestMs: 0,
  refused: 0,
  turns: 0,
  failedTurns: 0,
};

function toSteps(rows: Awaited<ReturnType<Journal["listTallies"]>>): ActivityStep[] {
  return Array.from(
    Map.groupBy(rows, ({ at }) => at),
    ([at, counts]) => {
      const known = counts.filter(({ what }) => what in NOTHING).map(({ what, n }) => [what, n]);
      return { at: toIso(at), ...NOTHING, ...Object.fromEntries(known) };
    },
  );
}
